/** Prints events as answers of the Messages dialect, and validates the order of stream events. */

import { normalise } from '../../../lib/stages/normalise.ts'
import { sseEncode } from '../../../lib/stages/sse-encode.ts'
import type { ChatBatch } from '../../../lib/dialects/dialect.ts'
import { answerStart } from '../../../lib/replies/answer-reply.ts'
import { messages } from '../../../lib/dialects/messages/index.ts'
import { MessageFold } from '../../../lib/dialects/messages/complete.ts'
import { batchesOf, collect, routedCall } from '../../support/stages.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'
import type { RoutedCall } from '../../../lib/core/call.ts'
import type { MessagesContext } from '../../../lib/dialects/messages/input.ts'
import type { MessagesAnswer, MessagesStreamEvent } from '../../../schemas/messages-answer.ts'

const plain: MessagesContext = {
  request: { model: 'one/m', messages: [] },
  keyId: 'key',
  hidesThinking: false,
  toolNames: new Map(),
  untranslatable: undefined,
  direct: { routes: new Set() }
}

export function callWith (context: Partial<MessagesContext> = {}): RoutedCall<ChatInput> {
  return routedCall<ChatInput>(
    { model: 'one/m', messages: [], stream: true },
    { context: { ...plain, ...context } }
  )
}

/** Returns the text of a stream. */
export async function streamed (
  lists: ChatEvent[][],
  context?: Partial<MessagesContext>,
  failure?: unknown
): Promise<string> {
  const batches = normalise({ estimate: () => ({ prompt: { typical: 10 } }) })(
    batchesOf(callWith(context), lists, failure)
  )
  return (await collect(sseEncode(messages)(batches))).join('')
}

/** Returns the complete answer. */
export async function complete (
  lists: ChatEvent[][],
  context?: Partial<MessagesContext>
): Promise<MessagesAnswer> {
  const batches: ChatBatch[] = await collect(
    normalise({ estimate: () => ({ prompt: { typical: 10 } }) })(batchesOf(callWith(context), lists))
  )
  const [first] = batches
  if (first === undefined) throw new TypeError('no batch')
  return messages.complete(answerStart<MessagesContext>(first), batches) as MessagesAnswer // what it makes
}

/** Parses the frames of a stream; each must have both lines, and its name must equal the type. */
export function framesOf (text: string): MessagesStreamEvent[] {
  const frames = text.split('\n\n')
  if (frames.pop() !== '') throw new Error('the last frame is not ended')
  return frames.map(frame => {
    const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? []
    const event = JSON.parse(data) as MessagesStreamEvent // printed by us
    if (name !== event.type) throw new Error(`${name} is the name of ${event.type}`)
    return event
  })
}

export function folded (events: readonly MessagesStreamEvent[]): MessagesAnswer {
  const fold = new MessageFold()
  for (const event of events) fold.add(event)
  return fold.result()
}

const deltaOf: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'thinking',
  input_json_delta: 'tool_use'
}

/** Returns the errors in the order of a complete stream; none if clients can rely on it. */
export function orderFaults (events: readonly MessagesStreamEvent[]): string[] {
  const faults: string[] = []
  const fault = (wrong: boolean, text: string): void => { if (wrong) faults.push(text) }
  const types = events.map(({ type }) => type)
  fault(types[0] !== 'message_start' || types[1] !== 'ping', 'begins with message_start and ping')
  fault(types.filter(type => type === 'message_start').length !== 1, 'one message_start')
  fault(
    types.at(-1) !== 'message_stop' || types.at(-2) !== 'message_delta',
    'ends with message_delta and message_stop'
  )
  fault(types.filter(type => type === 'message_delta' || type === 'message_stop').length !== 2, 'one end')
  let open: { index: number, type: string, signed: boolean } | undefined
  let next = 0
  for (const event of events) {
    switch (event.type) {
      case 'content_block_start':
        fault(open !== undefined, 'one block at a time')
        fault(event.index !== next++, 'indexes without gaps')
        open = { index: event.index, type: event.content_block.type, signed: false }
        break
      case 'content_block_delta':
        fault(open?.index !== event.index, 'a delta belongs to the open block')
        fault(open?.type !== deltaOf[event.delta.type], `${event.delta.type} in ${open?.type}`)
        fault(open?.signed === true, 'nothing after a signature')
        if (open !== undefined && event.delta.type === 'signature_delta') open.signed = true
        break
      case 'content_block_stop':
        fault(open?.index !== event.index, 'the open block is closed')
        open = undefined
        break
      case 'message_delta':
        fault(open !== undefined, 'every block is closed')
        break
      default:
    }
  }
  return faults
}
