import { readObjectText, replaceFields, replaceFieldsIn } from '../../json/object-text.ts'
import { sseFrame } from '../../wire/sse.ts'
import type { ChatEvent } from '../../core/events.ts'

/** Prints the frames of a provider of this dialect as they came, but for the name of the model. */
export class DirectFrames {
  readonly #fields: ReadonlyMap<string, string>
  /** The last event, which is printed once the provider's stream has ended. */
  #stop = sseFrame('message_stop', '{"type":"message_stop"}')
  begun = false

  constructor (model: string) {
    this.#fields = new Map([['model', JSON.stringify(model)]])
  }

  print (events: readonly ChatEvent[]): string {
    let text = ''
    for (const event of events) {
      if (event.type !== 'direct-frame') continue
      this.begun = true
      const frame = sseFrame(
        event.name,
        event.name === 'message_start' ? replaceFieldsIn(event.json, 'message', this.#fields) : event.json
      )
      if (event.name === 'message_stop') this.#stop = frame
      else text += frame
    }
    return text
  }

  /**
   * A provider that said how the answer ends, but not that it has ended, is complete: clients wait for the
   * last event.
   */
  end (): string {
    return this.#stop
  }
}

/** Returns the text of a message with the name that its model has here. */
export function withModel (message: string, model: string): string {
  const text = readObjectText(message)
  return text === undefined || !text.fields.has('model')
    ? message
    : replaceFields(message, text, new Map([['model', JSON.stringify(model)]]))
}
