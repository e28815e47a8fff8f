/** Answers of a provider that speaks Messages, passed through with the caller's model name. */

import { costFields } from '../../core/usage.ts'
import {
  printedFields,
  readObjectText,
  replaceFields,
  replaceFieldsIn
} from '../../json/object-text.ts'
import { sseFrame } from '../../wire/sse-frames.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { AnswerStart } from '../dialect.ts'

type DirectFrame = ChatEvent & { readonly type: 'direct-frame' }

/** Passes through a provider's frames; only the model name changes. */
export class DirectFrames {
  readonly #fields: ReadonlyMap<string, string>
  readonly #call: AnswerStart['call']
  /** The last event, printed once the provider's stream has ended. */
  #stop = sseFrame('message_stop', '{"type":"message_stop"}')
  begun = false

  constructor ({ head, call }: Pick<AnswerStart, 'head' | 'call'>) {
    this.#fields = new Map([['model', JSON.stringify(head.model)]])
    this.#call = call
  }

  print (events: readonly ChatEvent[]): string {
    let text = ''
    for (const event of events) {
      if (event.type !== 'direct-frame') continue
      this.begun = true
      const frame = sseFrame(event.name, this.#shown(event))
      if (event.name === 'message_stop') this.#stop = frame
      else text += frame
    }
    return text
  }

  #shown ({ name, json }: DirectFrame): string {
    if (name === 'message_start') return replaceFieldsIn(json, 'message', this.#fields)
    return name === 'message_delta' ? withCost(json, this.#call) : json
  }

  /**
   * Completes the answer if the provider reported a stop reason but no end: clients wait for the last event.
   */
  end (): string {
    return this.#stop
  }
}

/** Returns a message with the caller's model name, and with its cost if requested. */
export function messageForCaller (
  message: string,
  { head, call }: Pick<AnswerStart, 'head' | 'call'>
): string {
  const text = readObjectText(message)
  return text === undefined || !text.fields.has('model')
    ? message
    : withCost(replaceFields(message, text, new Map([['model', JSON.stringify(head.model)]])), call)
}

/** Adds the cost of the call to `usage`, if the caller requests it. */
function withCost (json: string, call: AnswerStart['call']): string {
  const cost = call.options?.usageCost?.(call)
  return cost === undefined ? json : replaceFieldsIn(json, 'usage', printedFields(costFields(cost)))
}
