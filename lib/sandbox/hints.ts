/**
 * Values from a question for the arguments of a tool, if the question states none: words, quotes, numbers.
 */

export interface Hints {
  /** The entire question, for arguments that are a query or a text. */
  readonly text: string
  /** Quoted passages, else names: words with a capital that do not begin a sentence. */
  readonly strings: readonly string[]
  readonly numbers: readonly number[]
}

// Only so much of a question is looked at; what follows is pasted material.
const longest = 4000

export function hintsIn (question: string): Hints {
  const text = question.slice(0, longest)
  const quoted = [...text.matchAll(/(?<!\p{L})["“'`]([^"”'`]{1,200})["”'`](?!\p{L})/gu)].map(
    ([, inside = '']) => inside
  )
  const names = [...text.matchAll(/(?<=[\p{L}\p{N},] )\p{Lu}[\p{L}\p{N}-]*(?: \p{Lu}[\p{L}\p{N}-]*)*/gu)]
  return {
    text,
    strings: quoted.length > 0 ? quoted : names.map(([name]) => name).filter(name => name !== 'I'),
    numbers: [...text.matchAll(/-?\d+(?:\.\d+)?/g)].map(([number]) => Number(number))
  }
}
