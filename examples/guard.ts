/**
 * A guard in the complete gateway: a stage that refuses a call before it costs anything.
 *
 *     npx tsc && node guard.js
 *
 * The pipeline is the gateway's own for chat, with `refuseCardNumbers` after the rules of chat: every
 * dialect of a prompt is one list of messages there, and no provider is chosen yet.
 */

import { createGateway, createLog, type Gateway } from 'headgate'
import { loadSettings } from 'headgate/config'
import { chat, createEndpoints } from 'headgate/pipelines'
import { GatewayError, map } from 'headgate/stages'
import type { ChatInput, Stage, ValidCall } from 'headgate/stages'

const cardNumber = /\b\d{4}(?:[ -]?\d{4}){3}\b/

/** Passes calls on, except those whose messages hold a card number. */
export function refuseCardNumbers (): Stage<ValidCall<ChatInput>> {
  return map(call => {
    if (!cardNumber.test(JSON.stringify(call.request.messages))) return call
    throw new GatewayError('content_policy_violation', {
      message: 'Messages must not contain card numbers.', param: 'messages'
    })
  })
}

/** Starts a gateway whose chat is guarded; every other endpoint is as it was. */
export async function startGateway (env: NodeJS.ProcessEnv, cwd: string): Promise<{ gateway: Gateway, url: string }> {
  const keys = { check: (presented: string) => presented === 'secret' ? { id: '1', name: 'me' } : undefined }
  const gateway = await createGateway(loadSettings({ env, cwd }), {
    keys,
    log: createLog('warn'),
    endpoints: services => createEndpoints(services).map(endpoint =>
      endpoint.path === '/v1/chat/completions' ? { ...endpoint, handle: chat(services, { afterRules: refuseCardNumbers() }) } : endpoint)
  })
  const { host, port } = await gateway.listen()
  return { gateway, url: `http://${host}:${port}` }
}

if (process.argv[1] === import.meta.filename) console.log((await startGateway(process.env, process.cwd())).url)
