/** The same answer in the dialect of each provider: a stream of 200 text events, and complete. */

import type { ProviderKind } from '../../schemas/providers.ts'
import { eventCount, streamPieces, texts, completeAnswer, completeText } from '../../lib/load/answers.ts'

export interface Dialect {
  readonly kind: ProviderKind
  readonly complete: string
  /** The stream, with so many events per piece. */
  readonly pieces: (perPiece: number) => string[]
}

const anthropicHead = {
  id: 'msg_01',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  stop_sequence: null
}
const anthropicUsage = {
  input_tokens: 220,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 200
}

const anthropic: Dialect = {
  kind: 'anthropic',
  complete: JSON.stringify({
    ...anthropicHead,
    content: [{ type: 'text', text: completeText }],
    stop_reason: 'end_turn',
    usage: anthropicUsage
  }),
  pieces: perPiece =>
    inPieces(
      perPiece,
      (text, index) =>
        padded(
          named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
          index % 12
        ),
      {
        before:
          named({
            type: 'message_start',
            message: {
              ...anthropicHead,
              content: [],
              stop_reason: null,
              usage: { ...anthropicUsage, output_tokens: 1 }
            }
          }) + named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
        after:
          named({ type: 'content_block_stop', index: 0 }) +
          named({
            type: 'message_delta',
            delta: { stop_reason: 'end_turn', stop_sequence: null },
            usage: { output_tokens: 200 }
          }) +
          named({ type: 'message_stop' })
      }
    )
}

/** Anthropic pads events to hide the length of texts. */
function padded (message: string, spaces: number): string {
  return message.replace(/\}\n\n$/, `${' '.repeat(spaces)}}\n\n`)
}

/** Gemini reports its output count so far in every message. */
function googleUsage (candidatesTokenCount: number): object {
  return { promptTokenCount: 220, candidatesTokenCount, totalTokenCount: 220 + candidatesTokenCount }
}

const google: Dialect = {
  kind: 'google',
  complete: JSON.stringify(googleAnswer(completeText, { finishReason: 'STOP' })),
  // Gemini ends its lines with CRLF.
  pieces: perPiece =>
    inPieces(perPiece, (text, index) => withCrlf(unnamed(googleAnswer(text, {}, index + 1))), {
      before: '',
      after: withCrlf(unnamed(googleAnswer('', { finishReason: 'STOP' })))
    })
}

/** OpenAI's dialect; xAI counts its tokens differently. */
function openai (kind: ProviderKind): Dialect {
  return { kind, complete: completeAnswer, pieces: streamPieces }
}

export const dialects: readonly Dialect[] = [openai('openai'), openai('xai'), anthropic, google]

function googleAnswer (text: string, more: object = {}, tokens = eventCount): object {
  return {
    candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...more }],
    usageMetadata: googleUsage(tokens),
    modelVersion: 'gemini-2.5-flash',
    responseId: 'r1'
  }
}

function inPieces (
  perPiece: number,
  frame: (text: string, index: number) => string,
  { before, after }: { before: string, after: string }
): string[] {
  const pieces = [before]
  for (const [index, text] of texts.entries()) {
    if (index > 0 && index % perPiece === 0) pieces.push('')
    pieces.push((pieces.pop() ?? '') + frame(text, index))
  }
  pieces.push((pieces.pop() ?? '') + after)
  return pieces
}

function named (event: { readonly type: string, readonly [field: string]: unknown }): string {
  return `event: ${event.type}\n${unnamed(event)}`
}

function unnamed (event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

function withCrlf (message: string): string {
  return message.replaceAll('\n', '\r\n')
}
