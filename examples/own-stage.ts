/**
 * A stage of your own between two of Headgate's, and no HTTP server at all.
 *
 *     npx tsc && node own-stage.js
 *
 * `shout` changes the text of every answer on its way, streamed or complete: it sees events, so it
 * need not know which provider was called or how the answer will be sent.
 */

import { chatCompletions } from 'headgate/pipelines'
import { answerReply, normalise, pipeline, providerCall } from 'headgate/stages'
import { callFrom, sandboxProvider, testServices, textOf } from 'headgate/testing'
import type { Batch, ChatEvent, ChatInput, Reply, Stage } from 'headgate/stages'

/** Puts text into capitals; everything else stays as it came. */
export function shout (): Stage<Batch<ChatInput, ChatEvent>> {
  return async function * (source) {
    for await (const batch of source) {
      const events = batch.events.map(event =>
        event.type === 'text-delta' ? { ...event, text: event.text.toUpperCase() } : event)
      yield { ...batch, events }
    }
  }
}

const services = testServices(sandboxProvider())
const answer = pipeline(providerCall(services, 'chat'), shout(), normalise(), answerReply(chatCompletions))

/** Answers a question in capitals. */
export async function askLoudly (content: string, stream: boolean): Promise<Reply> {
  return await answer(callFrom({ model: 'sandbox/echo', messages: [{ role: 'user', content }], stream }))
}

if (process.argv[1] === import.meta.filename) {
  console.log(await textOf(await askLoudly('Is anyone there?', true)))
}
