import { printInTurns } from '../json/print-in-turns.ts'
import { bufferBody } from '../wire/buffer-body.ts'
import { PrintedJson, jsonReplyHeaders, toJsonReply, type Reply } from '../core/reply.ts'
import type { CallRecord } from '../core/record.ts'

/** Answers from this size on are printed in turns of the event loop. */
const largeAnswerBytes = 1024 * 1024

/** Returns what became of the complete answer of a provider as a reply in JSON; only a large one is waited for. */
export function toAnswerReply (value: unknown, { answerBytes }: Pick<CallRecord, 'answerBytes'>): Reply | Promise<Reply> {
  return answerBytes < largeAnswerBytes || value instanceof PrintedJson ? toJsonReply(value) : toLargeReply(value)
}

/** Returns a value as a reply in JSON, a large one printed in turns of the event loop. */
export async function toLargeReply (value: unknown): Promise<Reply> {
  return { status: 200, headers: jsonReplyHeaders, body: await bufferBody(() => printInTurns(value)) }
}
