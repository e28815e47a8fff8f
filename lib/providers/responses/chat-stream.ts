/** Reads one event stream of the Responses API. */

import { callIdsIn } from '../../chat/call-ids.ts'
import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { GatewayError } from '../../core/errors.ts'
import { objectOf } from '../../json/type-guards.ts'
import { objectIn, partsOf } from '../json-api.ts'
import { failedChat, isUntypedError } from './errors.ts'
import { ResponseReader, labelAccount } from './response-reader.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterInput, StreamReader } from '../provider.ts'
import type { WireResponse, WireStreamEvent } from './wire.ts'

/**
 * Creates the reader of one stream. `answer-start` comes first; the finish of the choice and the usage come
 * last, with the event that ends the response. Unknown events are ignored.
 *
 * @throws ProviderFailure for `response.failed` and `error`
 * @throws GatewayError `upstream_invalid_response` for invalid JSON; `upstream_stream_interrupted` from `end`
 *   without an event that ended the response
 * @see https://developers.openai.com/api/reference/resources/responses/streaming-events
 */
export function readStream (input: AdapterInput<ChatInput>): StreamReader<ChatEvent> {
  return new ChatStream(input)
}

class ChatStream implements StreamReader<ChatEvent> {
  readonly #reader: ResponseReader
  #hasStarted = false
  isDone = false

  constructor (input: AdapterInput<ChatInput>) {
    const { request } = input
    this.#reader = new ResponseReader(
      offersFunctionsOnly(request), callIdsIn(request), labelAccount(input)
    )
  }

  read ({ event: name, data }: EventSourceMessage, into: ChatEvent[]): void {
    const event: WireStreamEvent | undefined = objectIn(data)
    if (event === undefined) return
    const { delta } = event
    switch (typeOf(event, name)) {
      case 'response.created':
        if (!this.#hasStarted) this.#reader.start(objectOf(event.response) ?? {}, into)
        this.#hasStarted = true
        break
      case 'response.output_item.added':
        for (const item of partsOf(event.item, 'an item')) this.#reader.startItem(event, item, into)
        break
      case 'response.output_text.delta':
        this.#reader.addText(event, 'text-delta', delta, event.logprobs, into)
        break
      case 'response.refusal.delta':
        this.#reader.addText(event, 'refusal-delta', delta, undefined, into)
        break
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.#reader.addReasoning(event, event.summary_index, delta, into)
        break
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.#reader.addToCall(event, delta, into)
        break
      case 'response.output_text.done':
        this.#reader.addWhole(event, 'text-delta', event.text, into)
        break
      case 'response.refusal.done':
        this.#reader.addWhole(event, 'refusal-delta', event.refusal, into)
        break
      case 'response.reasoning_summary_text.done':
      case 'response.reasoning_text.done':
        this.#reader.addWhole(event, 'reasoning-delta', event.text, into)
        break
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.done':
        this.#reader.addWhole(event, 'tool-call-delta', event.arguments ?? event.input, into)
        break
      case 'response.output_item.done':
        for (const item of partsOf(event.item, 'an item')) this.#reader.endItem(event, item, into)
        break
      case 'response.completed':
      case 'response.incomplete':
        this.isDone = true
        // Some servers omit the `response` wrapper.
        this.#reader.finish({ ...objectOf(event), ...objectOf(event.response) }, into)
        this.#reader.end(into)
        break
      case 'response.failed':
      case 'response.cancelled': {
        const response: WireResponse = objectOf(event.response) ?? {}
        throw failedChat(response.error, response)
      }
      case 'error':
        throw failedChat(event.error ?? event)
      default:
        if (isUntypedError(event)) throw failedChat(event.error)
    }
  }

  end (): void {
    throw new GatewayError('upstream_stream_interrupted')
  }
}

/** The type is both in the data and in the event name; some servers send only one, or a generic name. */
function typeOf ({ type }: WireStreamEvent, name: string | undefined): unknown {
  return name !== undefined &&
    (name === 'error' || name.startsWith('response.')) &&
    !String(type).startsWith('response.')
    ? name
    : type
}
