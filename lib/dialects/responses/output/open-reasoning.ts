import { itemId } from '../item-ids.ts'
import { packReasoning, type ReasoningState } from '../reasoning-state.ts'
import { OpenItem, type ItemListener } from './open-item.ts'
import type { OutputItem } from '../../../../schemas/response-items.ts'

type Reasoning = Extract<OutputItem, { type: 'reasoning' }>

/** Writes reasoning: one summary and its state. */
export class OpenReasoning extends OpenItem {
  readonly id = itemId('rs')
  #text = ''
  #packed: string

  /** @param state required by some clients to send the item back; a provider may extend it */
  constructor (listener: ItemListener, state: ReasoningState) {
    super(listener)
    this.#packed = packReasoning(state)
  }

  get isEmpty (): boolean {
    return this.#text === ''
  }

  write (text: string): void {
    const isFirst = this.isEmpty
    this.#text += text
    this.step(() => {
      if (isFirst) {
        this.event('response.reasoning_summary_part.added', {
          summary_index: 0,
          part: { type: 'summary_text', text: '' }
        })
      }
      this.event('response.reasoning_summary_text.delta', { summary_index: 0, delta: text })
    })
  }

  setState (state: ReasoningState): void {
    this.#packed = packReasoning(state)
  }

  protected opening (): Reasoning {
    return { id: this.id, type: 'reasoning', status: 'in_progress', summary: [] }
  }

  protected close (): void {
    if (this.isEmpty) return
    this.event('response.reasoning_summary_text.done', { summary_index: 0, text: this.#text })
    this.event('response.reasoning_summary_part.done', {
      summary_index: 0,
      part: { type: 'summary_text', text: this.#text }
    })
  }

  protected complete (): Reasoning {
    return {
      id: this.id,
      type: 'reasoning',
      status: this.status,
      summary: this.isEmpty ? [] : [{ type: 'summary_text', text: this.#text }],
      encrypted_content: this.#packed
    }
  }
}
