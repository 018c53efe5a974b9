// The participant's progress: the server's state and later events. The server applies the same rules.

const STAGES = ["before", "instructions", "quiz", "practice", "trials", "after", "finished"];

export class Progress {
  constructor(state, { questionnaires }) {
    this.participant = state.participant;
    this.seq = state.seq;
    this.stage = state.stage;
    this.answered = state.progress.answered;
    this.trial = state.progress.trial;
    this.clicks = state.progress.clicks.map((cell) => [...cell]);
    this.practice = state.practice;
    this.trials = state.trials;
    this.feedback = new Map(state.practice.filter((item) => item.feedback).map((item) => [item.trial, item.feedback]));
    this.survey = { ...state.survey };
    this.quiz = state.quiz;
    this.questionnaires = questionnaires;
    this.questionnaire = questionnaires.find(({ name }) => name === state.questionnaire) ?? null;
  }

  get items() {
    return this.stage === "practice" ? this.practice : this.trials;
  }

  /** Return the current item, or null. */
  get item() {
    return this.items.find((item) => item.trial === this.trial) ?? null;
  }

  /** Return the items after the current one, practice before trials. */
  get following() {
    const all = [...this.practice, ...this.trials];
    if (this.trial !== null) return all.slice(all.indexOf(this.item) + 1);
    return { before: all, instructions: all, quiz: all, practice: this.trials }[this.stage] ?? [];
  }

  /** Whether the current trial is answered and only its explanation is missing. */
  get explaining() {
    return this.stage === "trials" && this.trial !== null && this.trial < this.answered;
  }

  /** Whether the study is finished. */
  get ended() {
    return this.stage === "finished" || this.stage === "screened";
  }

  take({ seq, kind, value }) {
    this.seq = seq;
    if (kind === "stage") this.#goOn();
    else if (kind === "questionnaire") {
      Object.assign(this.survey, value.answers);
      this.questionnaire = this.#of(this.stage)[this.#of(this.stage).indexOf(this.questionnaire) + 1] ?? null;
      if (!this.questionnaire) this.#goOn();
    } else if (kind === "quiz") this.stage = "waiting"; // The server decides whether the answers are correct.
    else if (kind === "click") this.clicks.push([value.row, value.col]);
    else if (kind === "undo") this.clicks.pop();
    else if (kind === "answer" || kind === "choice") {
      if (this.stage === "trials") this.answered += 1;
      if (!this.item.explain) this.#next();
    } else if (kind === "explanation") this.#next();
  }

  #of(stage) {
    return this.questionnaires.filter(({ when }) => when === stage);
  }

  #goOn() {
    const there = {
      quiz: Boolean(this.quiz && !this.quiz.passed), practice: this.practice.length > 0, after: this.#of("after").length > 0,
    };
    this.stage = STAGES.slice(STAGES.indexOf(this.stage) + 1).find((stage) => there[stage] ?? true);
    this.questionnaire = this.#of(this.stage)[0] ?? null;
    this.trial = this.stage === "practice" || this.stage === "trials" ? this.items[0].trial : null;
  }

  #next() {
    this.trial = this.items[this.items.indexOf(this.item) + 1]?.trial ?? null;
    this.clicks = [];
    if (this.stage === "trials" && this.trial === null) this.#goOn();
  }
}
