import { normalise } from '../../lib/stages/normalise.ts'
import { recordUsage } from '../../lib/stages/record-usage.ts'
import { sseEncode } from '../../lib/stages/sse-encode.ts'
import { readPieces } from './read-pieces.ts'
import { batchesOf, collect, routedCall } from './stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { StreamReader } from '../../lib/providers/provider.ts'

export interface PrintedAnswer {
  /** Its messages as normalised JSON texts, without what differs from answer to answer. */
  readonly messages: readonly string[]
  readonly characters: number
}

/** Reads a stream that arrives in these pieces, and prints its answer for a caller of chat completions. */
export async function printedAnswer (
  pieces: readonly Buffer[],
  reader: StreamReader<ChatEvent>
): Promise<PrintedAnswer> {
  const batches = await readPieces<ChatEvent>(pieces, reader)
  const call = routedCall<ChatInput>({
    model: 'x/m',
    messages: [],
    stream: true,
    stream_options: { include_usage: true }
  })
  const frames = await collect(sseEncode()(normalise()(recordUsage()(batchesOf(call, batches)))))
  const text = frames.join('').replaceAll(/"id":"[^"]*","object":"[^"]*","created":\d+,/g, '')
  return {
    messages: text
      .split('\n\n')
      .map(line => (line.startsWith('data: {') ? JSON.stringify(JSON.parse(line.slice(6))) : line)),
    characters: call.record.usage.outputCharacters ?? 0
  }
}
