/**
 * A guard in the complete gateway: a stage that refuses a call before it costs anything.
 *
 *     npx tsc && node guard.js
 *
 * The pipelines are the gateway's own, with `refuseCardNumbers` after the rules of each: every dialect of a
 * prompt is one list of messages there, and no provider is chosen yet.
 */

import { createGateway, createLog, type Gateway } from 'headgate'
import { loadSettings } from 'headgate/config'
import { chat, compact, completions, countInputTokens, countTokens, createEndpoints, messages, responses } from 'headgate/pipelines'
import { GatewayError, map } from 'headgate/stages'
import type { Call, Handler, Services } from 'headgate/pipelines'
import type { ChatInput, PassThroughStage, TextInput, ValidCall } from 'headgate/stages'

const cardNumber = /\b\d{4}(?:[ -]?\d{4}){3}\b/

/** A prompt: messages, or a text to be completed, which has a suffix beside them. */
type Prompt = ChatInput & Partial<Pick<TextInput, 'text'>>

/** Passes calls on, except those whose messages hold a card number. */
export function refuseCardNumbers (): PassThroughStage<ValidCall<Prompt>> {
  return map(<C extends ValidCall<Prompt>>(call: C): C => {
    // OpenAI and Anthropic may be sent what the caller wrote, which can hold more than the messages that are made of it.
    const { messages, text, asWritten } = call.request
    if (!cardNumber.test(JSON.stringify([messages, text, asWritten]))) return call
    throw new GatewayError('content_policy_violation', {
      message: 'Messages must not contain card numbers.', param: 'messages'
    })
  })
}

type Guarded = (services: Services, options: { afterRules: PassThroughStage<ValidCall<Prompt>> }) => Handler<Call>

/** The pipelines of all endpoints that take a prompt, by path. */
const guarded = new Map<string, Guarded>([
  ['/v1/chat/completions', chat], ['/v1/completions', completions],
  ['/v1/messages', messages], ['/v1/messages/count_tokens', countTokens],
  ['/v1/responses', responses], ['/v1/responses/input_tokens', countInputTokens], ['/v1/responses/compact', compact]
])

/** Starts a gateway whose prompts are guarded; every other endpoint is as it was. */
export async function startGateway (env: NodeJS.ProcessEnv, cwd: string): Promise<{ gateway: Gateway, url: string }> {
  const keys = { check: (presented: string) => presented === 'secret' ? { id: '1', name: 'me' } : undefined }
  const gateway = await createGateway(loadSettings({ env, cwd }), {
    keys,
    log: createLog('warn'),
    endpoints: services => createEndpoints(services).map(endpoint => {
      const pipeline = guarded.get(endpoint.path)
      return pipeline === undefined ? endpoint : { ...endpoint, handle: pipeline(services, { afterRules: refuseCardNumbers() }) }
    })
  })
  const { host, port } = await gateway.listen()
  return { gateway, url: `http://${host}:${port}` }
}

if (process.argv[1] === import.meta.filename) console.log((await startGateway(process.env, process.cwd())).url)
