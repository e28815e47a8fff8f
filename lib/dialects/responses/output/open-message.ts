/** Writes the message item of a response while its answer arrives. */

import { nonEmptyText, numberOf, objectOf } from '../../../json/type-guards.ts'
import { append } from '../../../json/append.ts'
import { itemId } from '../item-ids.ts'
import { OpenItem, type ItemListener, type TextPlace } from './open-item.ts'
import type { OutputItem, OutputPart } from '../../../../schemas/response-items.ts'

type Message = Extract<OutputItem, { type: 'message' }>

export interface OpenMessageOptions {
  readonly phase?: string | undefined
  readonly textStart: number
}

/** Writes a message; each part begins with its first content. */
export class OpenMessage extends OpenItem {
  readonly id = itemId('msg')
  readonly phase: string | undefined
  readonly #textStart: number
  readonly #parts: OutputPart[] = []
  #place: TextPlace | undefined

  /**
   * @param phase as the provider gives it
   * @param textStart length of the answer's text in earlier messages, which positions of citations include
   */
  constructor (listener: ItemListener, { phase, textStart }: OpenMessageOptions) {
    super(listener)
    this.phase = phase
    this.#textStart = textStart
  }

  write (kind: OutputPart['type'], text: string, logprobs: readonly unknown[]): void {
    this.step(() => {
      const part = this.#part(kind)
      if (part.type === 'output_text') {
        part.text += text
        append(part.logprobs, logprobs as Array<Record<string, unknown>>)
        this.listener.text(this.#placeOf(), text, logprobs)
      } else {
        part.refusal += text
        this.event('response.refusal.delta', { content_index: this.#parts.length - 1, delta: text })
      }
    })
  }

  annotate (given: readonly unknown[]): void {
    const annotations = given.flatMap(annotation => citation(annotation, this.#textStart))
    if (annotations.length === 0) return
    this.step(() => {
      const part = this.#part('output_text')
      if (part.type !== 'output_text') return
      for (const annotation of annotations) {
        this.event('response.output_text.annotation.added', {
          content_index: this.#parts.length - 1, annotation_index: part.annotations.length, annotation
        })
        part.annotations.push(annotation)
      }
    })
  }

  protected opening (): Message {
    return this.#item('in_progress', [])
  }

  protected close (): void {
    this.#closePart()
  }

  protected complete (): Message {
    return this.#item(this.status, this.#parts)
  }

  #item (status: Message['status'], content: OutputPart[]): Message {
    const { id, phase } = this
    return { id, type: 'message', status, role: 'assistant', content, ...phase !== undefined && { phase } }
  }

  /** Returns the open part, or a new one if the kind differs. */
  #part (kind: OutputPart['type']): OutputPart {
    const last = this.#parts.at(-1)
    if (last?.type === kind) return last
    this.#closePart()
    this.#parts.push(emptyPart(kind))
    this.#place = undefined
    const part = emptyPart(kind)
    this.event('response.content_part.added', { content_index: this.#parts.length - 1, part })
    return this.#parts.at(-1) ?? part
  }

  #closePart (): void {
    const part = this.#parts.at(-1)
    if (part === undefined) return
    const position = { content_index: this.#parts.length - 1 }
    if (part.type === 'output_text')
      this.event('response.output_text.done', { ...position, text: part.text, logprobs: part.logprobs })
    else this.event('response.refusal.done', { ...position, refusal: part.refusal })
    this.event('response.content_part.done', { ...position, part })
  }

  #placeOf (): TextPlace {
    return (this.#place ??= {
      item_id: this.id,
      output_index: this.outputIndex,
      content_index: this.#parts.length - 1
    })
  }
}

function emptyPart (kind: OutputPart['type']): OutputPart {
  return kind === 'output_text'
    ? { type: kind, text: '', annotations: [], logprobs: [] }
    : { type: kind, refusal: '' }
}

/**
 * Converts an annotation: chat completions have `{ type: 'url_citation', url_citation: { … } }`, this API has
 * flat fields. Clients require all of them, so anything but a page citation is dropped.
 */
function citation (annotation: unknown, textStart: number): Array<Record<string, unknown>> {
  const { url_citation: nested, ...own } = objectOf(annotation) ?? {}
  const fields = { ...own, ...objectOf(nested) }
  const { url, title, start_index: start, end_index: end } = fields
  if (typeof url !== 'string') return []
  return [
    {
      ...fields,
      type: 'url_citation',
      url,
      title: nonEmptyText(title) ?? '',
      start_index: indexOf(start, textStart),
      end_index: indexOf(end, textStart)
    }
  ]
}

function indexOf (value: unknown, textStart: number): number {
  return Math.max(0, Math.trunc(numberOf(value) ?? 0) - textStart)
}
