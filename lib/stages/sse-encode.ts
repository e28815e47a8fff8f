import { chatCompletions } from '../dialects/chat-completions/index.ts'
import { answerStart, type AnswerDialect, type ChatBatch } from '../dialects/dialect.ts'
import { sseFrames } from '../wire/sse-frames.ts'
import type { Stage } from '../pipeline/stage.ts'

/** Prints batches of `normalise` as the event stream of a dialect. Default: chat completions. */
export function sseEncode (dialect: Pick<AnswerDialect<never>, 'encode'> = chatCompletions): Stage<ChatBatch, string> {
  return sseFrames<ChatBatch>(first => dialect.encode(answerStart<never>(first)))
}
