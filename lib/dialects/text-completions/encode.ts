import { TextChunks } from './text-chunks.ts'
import { isRefused } from '../../core/errors.ts'
import { errorFrame, endOfStream, sseData, type FramePrinter } from '../../wire/sse-frames.ts'
import type { AnswerStart } from '../dialect.ts'
import type { ChatEvent } from '../../core/events.ts'

/** Returns the printer of a streamed text completion. */
export function encodeText ({ head, call }: AnswerStart): FramePrinter<ChatEvent> {
  const chunks = new TextChunks(head)
  const withUsage = call.request.stream_options?.include_usage === true
  const frameOf = (event: ChatEvent): string => {
    const chunk = event.type === 'usage' && !withUsage ? undefined : chunks.of(event)
    return chunk === undefined ? '' : sseData(JSON.stringify(chunk))
  }
  return {
    print: events => events.map(frameOf).join(''),
    end: () => endOfStream,
    fail: failure =>
      (isRefused(failure)
        ? chunks
            .refused()
            .map(chunk => sseData(JSON.stringify(chunk)))
            .join('')
        : '') + errorFrame(failure)
  }
}
