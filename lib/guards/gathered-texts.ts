/** Collects texts from their places, has them judged together and puts them back. */

import type { ReplaceText, TextPlace } from '../json/place-table.ts'
import type { TextAtPoint, CallJudge } from './text-judge.ts'

interface Found {
  readonly text: string
  readonly place: TextPlace
  /** Index in the texts that the judge sees; `undefined` if the judge does not see it. */
  readonly index: number | undefined
}

/** The texts of one value, such as a request or an event, for one judge. */
export class GatheredTexts {
  readonly #judge: CallJudge
  readonly #found: Found[] = []
  /** The texts for the judge. */
  readonly seen: TextAtPoint[] = []

  constructor (judge: CallJudge) {
    this.#judge = judge
  }

  /** Records a text. */
  readonly collect: ReplaceText = (text, place) => {
    const point = this.#judge.pointOf(place)
    this.#found.push({ text, place, index: point === undefined ? undefined : this.seen.length })
    if (point !== undefined) this.seen.push({ text, point })
    return text
  }

  /**
   * Returns a function that puts the judged texts back on a second traversal; `undefined` if none changed.
   *
   * @param judged the results for `seen`
   * @throws GatewayError if a changed text cannot be replaced
   */
  putBack (judged: readonly string[]): ReplaceText | undefined {
    const texts = this.#found.map(({ text, place, index }) => {
      const other = index === undefined ? text : judged[index] ?? text
      if (other !== text && place.kind === 'fixed') throw this.#judge.refusal()
      return other
    })
    if (texts.every((text, at) => text === this.#found[at]?.text)) return undefined
    let next = 0
    return text => texts[next++] ?? text
  }
}

/**
 * Has a judge inspect the texts of a value.
 *
 * @param replaceTexts visits the texts of the value in a fixed order; returns the value with the replaced
 *   texts, or the same value if none changed
 * @throws GatewayError that refuses the call
 */
export async function judgeTexts<T> (
  judge: CallJudge,
  value: T,
  replaceTexts: (value: T, replace: ReplaceText) => T | Promise<T>
): Promise<T> {
  const found = new GatheredTexts(judge)
  const seen = await replaceTexts(value, found.collect) // JSON texts without unread parts
  if (found.seen.length === 0) return seen
  const replace = found.putBack(await judge.inspect(found.seen))
  return replace === undefined ? seen : await replaceTexts(value, replace)
}
