// The page's texts in the study's language. The English text is the key, and is shown without a translation.

import { messages } from "./messages.js";

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));

/** Return a text with its values inserted. */
export const t = (text, values = {}) => filled(messages.texts[text] ?? text, values);

/** Return a text that depends on a number. */
export function plural(one, many, n, values = {}) {
  const forms = messages.plurals[one];
  if (!forms) return filled(n === 1 ? one : many, { n, ...values });
  // The table ends below 200. From there on, forms repeat every hundred.
  return filled(forms[messages.forms[n < 200 ? n : 100 + (n % 100)]], { n, ...values });
}

/** Nodes for a text some of whose values are elements. */
export const nodes = (text, elements) =>
  (messages.texts[text] ?? text).split(/\{(\w+)\}/).map((part, i) => (i % 2 ? elements[part] : part));
