import type { OutputItem } from '../../../../schemas/response-items.ts'

/** An event of the stream but for its number. */
export interface WireEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** The place of a part in the answer, to which its text is added piece by piece. */
export interface TextPlace {
  readonly item_id: string
  readonly output_index: number
  readonly content_index: number
}

/** Takes what happens to the items, in order. */
export interface ItemListener {
  readonly event: (event: WireEvent) => void
  /** Takes a piece of a text: by far the most frequent event. */
  readonly text: (place: TextPlace, delta: string, logprobs: readonly unknown[]) => void
}

/** Writes an item that is not done. Until those before it are done, what happens to it is kept. */
export abstract class OpenItem {
  readonly listener: ItemListener
  abstract readonly id: string
  /** True when nothing is added any more. */
  ended = false
  status: 'completed' | 'incomplete' = 'completed'
  outputIndex = -1
  readonly #kept: Array<() => void> = []

  constructor (listener: ItemListener) {
    this.listener = listener
  }

  /** Begins to write the item, with what was kept of it. */
  start (outputIndex: number): void {
    this.outputIndex = outputIndex
    this.listener.event({
      type: 'response.output_item.added',
      output_index: outputIndex,
      item: this.opening()
    })
    for (const step of this.#kept) step()
  }

  /** Writes the end of the item, and returns it. */
  finish (): OutputItem {
    this.close()
    const item = this.complete()
    this.listener.event({ type: 'response.output_item.done', output_index: this.outputIndex, item })
    return item
  }

  /** Does a step at once, or when it is the item's turn. */
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
