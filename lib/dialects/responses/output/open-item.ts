/** An output item of Responses that is being written. */

import type { OutputItem } from '../../../../schemas/response-items.ts'

/** A stream event without its sequence number. */
export interface WireEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** Position of a part in the answer, to which text is appended. */
export interface TextPlace {
  readonly item_id: string
  readonly output_index: number
  readonly content_index: number
}

/** Receives the changes of items, in order. */
export interface ItemListener {
  readonly event: (event: WireEvent) => void
  /** Receives text: by far the most frequent event. */
  readonly text: (place: TextPlace, delta: string, logprobs: readonly unknown[]) => void
}

/** Writes an unfinished item. Its changes are buffered until the previous items are done. */
export abstract class OpenItem {
  readonly listener: ItemListener
  abstract readonly id: string
  /** True once nothing more is added. */
  ended = false
  status: 'completed' | 'incomplete' = 'completed'
  outputIndex = -1
  readonly #kept: Array<() => void> = []

  constructor (listener: ItemListener) {
    this.listener = listener
  }

  /** Starts writing the item, with its buffered changes. */
  start (outputIndex: number): void {
    this.outputIndex = outputIndex
    this.listener.event({
      type: 'response.output_item.added',
      output_index: outputIndex,
      item: this.opening()
    })
    for (const step of this.#kept) step()
  }

  /** Writes the end of the item and returns it. */
  finish (): OutputItem {
    this.close()
    const item = this.complete()
    this.listener.event({ type: 'response.output_item.done', output_index: this.outputIndex, item })
    return item
  }

  /** Runs a step immediately if the item is being written, else later. */
  protected step (step: () => void): void {
    if (this.outputIndex === -1) this.#kept.push(step)
    else step()
  }

  protected event (type: string, fields: Record<string, unknown>): void {
    this.listener.event({ type, item_id: this.id, output_index: this.outputIndex, ...fields })
  }

  protected abstract opening (): OutputItem
  protected abstract close (): void
  protected abstract complete (): OutputItem
}
