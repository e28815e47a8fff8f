import { chatCompletions } from '../dialects/chat-completions/index.ts'
import { sseFrames, type Frames } from '../wire/sse-frames.ts'
import { answerStart } from '../replies/answer-reply.ts'
import type { AnswerDialect, ChatBatch } from '../dialects/dialect.ts'
import type { Stage } from '../pipeline/stage.ts'

/** Prints normalised batches as the event stream of a dialect. Default: chat completions. */
export function sseEncode (
  dialect: Pick<AnswerDialect<never>, 'encode'> = chatCompletions
): Stage<ChatBatch, Frames> {
  return sseFrames<ChatBatch>(first => dialect.encode(answerStart<never>(first)))
}
