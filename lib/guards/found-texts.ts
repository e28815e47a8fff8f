/** Texts that are collected where they stand, judged together, and put back. */

import type { ReplaceText, TextPlace } from '../json/place-table.ts'
import type { TextAtPoint, CallJudge } from './text-judge.ts'

interface Found {
  readonly text: string
  readonly place: TextPlace
  /** Its number among the texts that the judge sees; `undefined`: it does not see it. */
  readonly number: number | undefined
}

/** The texts of one value, such as a request or an event, for one judge. */
export class FoundTexts {
  readonly #judge: CallJudge
  readonly #found: Found[] = []
  /** What the judge is to see. */
  readonly seen: TextAtPoint[] = []

  constructor (judge: CallJudge) {
    this.#judge = judge
  }

  /** Takes note of a text. */
  readonly collect: ReplaceText = (text, place) => {
    const point = this.#judge.pointOf(place)
    this.#found.push({ text, place, number: point === undefined ? undefined : this.seen.length })
    if (point !== undefined) this.seen.push({ text, point })
    return text
  }

  /**
   * Returns what puts the texts back when the same places are gone through again; `undefined` where none
   * differs.
   *
   * @param judged what became of `seen`
   * @throws GatewayError where one differs that cannot be replaced
   */
  putBack (judged: readonly string[]): ReplaceText | undefined {
    const texts = this.#found.map(({ text, place, number }) => {
      const other = number === undefined ? text : judged[number] ?? text
      if (other !== text && place.kind === 'fixed') throw this.#judge.refusal()
      return other
    })
    if (texts.every((text, at) => text === this.#found[at]?.text)) return undefined
    let next = 0
    return text => texts[next++] ?? text
  }
}

/**
 * Has a judge look at the texts of a value.
 *
 * @param replaceTexts goes through the texts of the value, always the same in the same order; it returns the
 *   value with other texts, the same where none differs
 * @throws GatewayError that refuses the call
 */
export async function judgeTexts<T> (
  judge: CallJudge,
  value: T,
  replaceTexts: (value: T, replace: ReplaceText) => T | Promise<T>
): Promise<T> {
  const found = new FoundTexts(judge)
  const seen = await replaceTexts(value, found.collect) // of JSON without what nobody sees
  if (found.seen.length === 0) return seen
  const replace = found.putBack(await judge.judge(found.seen))
  return replace === undefined ? seen : await replaceTexts(value, replace)
}
