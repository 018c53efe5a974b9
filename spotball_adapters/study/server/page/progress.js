// Where the participant is: the server's state, and what was done since. The server goes by the same rules.

export class Progress {
  constructor(state) {
    this.participant = state.participant;
    this.seq = state.seq;
    this.stage = state.stage;
    this.answered = state.progress.answered;
    this.trial = state.progress.trial;
    this.clicks = state.progress.clicks.map((cell) => [...cell]);
    this.practice = state.practice;
    this.trials = state.trials;
    this.feedback = new Map(state.practice.filter((item) => item.feedback).map((item) => [item.trial, item.feedback]));
  }

  get items() {
    return this.stage === "practice" ? this.practice : this.trials;
  }

  /** The item to do now, or null. */
  get item() {
    return this.items.find((item) => item.trial === this.trial) ?? null;
  }

  /** Items that follow the current one, practice before trials. */
  get following() {
    const all = [...this.practice, ...this.trials];
    if (this.trial !== null) return all.slice(all.indexOf(this.item) + 1);
    return { instructions: all, practice: this.trials }[this.stage] ?? [];
  }

  /** The current trial is answered; in whose words is what is missing. */
  get explaining() {
    return this.stage === "trials" && this.trial !== null && this.trial < this.answered;
  }

  take({ seq, kind, value }) {
    this.seq = seq;
    if (kind === "stage") {
      this.stage = value.stage === "instructions" && this.practice.length ? "practice" : "trials";
      this.trial = this.items[0].trial;
    } else if (kind === "click") this.clicks.push([value.row, value.col]);
    else if (kind === "undo") this.clicks.pop();
    else if (kind === "answer" || kind === "choice") {
      if (this.stage === "trials") this.answered += 1;
      if (!this.item.explain) this.#next();
    } else if (kind === "explanation") this.#next();
  }

  #next() {
    this.trial = this.items[this.items.indexOf(this.item) + 1]?.trial ?? null;
    this.clicks = [];
    if (this.stage === "trials" && this.trial === null) this.stage = "finished";
  }
}
