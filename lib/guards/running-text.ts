/** One text of an answer as it arrives, and what stands in place of its findings. */

import { unlistedPiece, type TextPlace } from '../json/place-table.ts'
import type { TextEdit } from './text-filter.ts'

export class RunningText {
  readonly place: TextPlace
  /** What is not decided, and one character before it. */
  text = ''
  /** The place of its first character. */
  start = 0
  #edits: TextEdit[] = []
  /** All characters before this place are decided. */
  decided = 0
  /** Characters of its pieces that are held. */
  held = 0
  /** True once nothing follows. */
  isEnded = false

  constructor (place: TextPlace) {
    this.place = place
  }

  get isOfCall (): boolean {
    return this.place.part === 'tool_call'
  }

  /** True for a text that ends others as it grows; what is not known may be the same word in each event. */
  get isSaid (): boolean {
    return !this.isOfCall && this.place !== unlistedPiece
  }

  /** True for a text that is decided when it is complete: what is in it is JSON. */
  get waitsForEnd (): boolean {
    return this.place.kind === 'json'
  }

  /** @returns the place of the piece in the text */
  add (piece: string): number {
    const start = this.start + this.text.length
    this.text += piece
    this.held += piece.length
    return start
  }

  /**
   * Decides what is left.
   *
   * @param edits by their places in what is left, in order
   * @param until the place in what is left up to which findings may begin
   */
  settle (edits: readonly TextEdit[], until: number): void {
    let from = Math.max(this.decided - this.start, Math.min(until, this.text.length))
    for (const { start, end, replacement } of edits) {
      this.#edits.push({ start: start + this.start, end: end + this.start, replacement })
      from = Math.max(from, end)
    }
    this.decided = from + this.start
    const kept = Math.max(0, from - 1)
    this.text = this.text.slice(kept)
    this.start += kept
  }

  /** Returns what stands in place of a piece. What is replaced across several stands in the first of them. */
  take (start: number, piece: string): string {
    this.held -= piece.length
    if (this.#edits.length === 0) return piece
    const end = start + piece.length
    let result = ''
    let from = start
    for (const edit of this.#edits) {
      if (edit.start >= end) break
      if (edit.end <= from) continue
      if (edit.start >= start) result += piece.slice(from - start, edit.start - start) + edit.replacement
      from = Math.min(edit.end, end)
    }
    this.#edits = this.#edits.filter(edit => edit.end > end)
    return result + piece.slice(from - start)
  }
}
