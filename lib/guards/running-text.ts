/** One text of an answer as it arrives, and the replacements of its findings. */

import { unlistedPiece, type TextPlace } from '../json/place-table.ts'
import type { TextEdit } from './text-filter.ts'

export class RunningText {
  readonly place: TextPlace
  /** The undecided text, and one character before it. */
  text = ''
  /** Position of its first character. */
  start = 0
  #edits: TextEdit[] = []
  /** All characters before this position are decided. */
  decided = 0
  /** Characters of held pieces. */
  held = 0
  /** True once the text is complete. */
  isEnded = false

  constructor (place: TextPlace) {
    this.place = place
  }

  get isOfCall (): boolean {
    return this.place.part === 'tool_call'
  }

  /**
   * True for a text whose growth ends others. Unknown texts do not, because they may repeat in each event.
   */
  get isVisible (): boolean {
    return !this.isOfCall && this.place !== unlistedPiece
  }

  /** True for JSON, which is decided when complete. */
  get waitsForEnd (): boolean {
    return this.place.kind === 'json'
  }

  /** @returns the position of the piece in the text */
  add (piece: string): number {
    const start = this.start + this.text.length
    this.text += piece
    this.held += piece.length
    return start
  }

  /**
   * Decides pending text.
   *
   * @param edits by position in the pending text, in order
   * @param until position in the pending text up to which findings may begin
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

  /** Returns the replacement for a piece. A replacement that spans several pieces goes into the first. */
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
