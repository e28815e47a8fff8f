/**
 * A guard in the whole gateway: a stage that refuses a call before it costs anything.
 *
 *     npx tsc && node guard.js
 *
 * The pipeline is the gateway's own for chat, with `refuseCardNumbers` after the rules of chat: every
 * dialect of a prompt is one list of messages there, and no provider is chosen yet.
 */

import { createGateway, createLog, type Gateway } from 'headgate'
import { loadSettings } from 'headgate/config'
import { createEndpoints } from 'headgate/pipelines'
import { ChatRequest } from 'headgate/schemas'
import {
  auth, chain, chatAttributes, chatInput, chatSettings, checkChatRules, defer, dryRun, estimateChat, GatewayError,
  limits, map, normalise, pipeline, providerCall, recordUsage, routeModel, sseEncode, streamOrJson, toCompletion,
  toolExecute, validate
} from 'headgate/stages'
import type { Call, ChatInput, Handler, Services, Stage, ValidCall } from 'headgate/stages'

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

function guardedChat (services: Services): Handler<Call> {
  return pipeline(
    auth(services),
    validate(ChatRequest),
    map(chatInput),
    map(checkChatRules),
    refuseCardNumbers(),
    routeModel(services, { settings: chatSettings, attributes: chatAttributes }),
    dryRun(services, 'chat'),
    limits(services, { estimate: estimateChat }),
    defer(services),
    toolExecute(services, chain(providerCall(services, 'chat'), recordUsage())),
    normalise(),
    streamOrJson({ streamed: sseEncode(), complete: toCompletion })
  )
}

/** Starts a gateway whose chat is guarded; every other endpoint is as it was. */
export async function startGateway (env: NodeJS.ProcessEnv, cwd: string): Promise<{ gateway: Gateway, url: string }> {
  const keys = { check: (presented: string) => presented === 'secret' ? { id: '1', name: 'me' } : undefined }
  const gateway = await createGateway(loadSettings({ env, cwd }), {
    keys,
    log: createLog('warn'),
    endpoints: services => createEndpoints(services).map(endpoint =>
      endpoint.path === '/v1/chat/completions' ? { ...endpoint, handle: guardedChat(services) } : endpoint)
  })
  const { host, port } = await gateway.listen()
  return { gateway, url: `http://${host}:${port}` }
}

if (process.argv[1] === import.meta.filename) console.log((await startGateway(process.env, process.cwd())).url)
