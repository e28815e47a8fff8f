/**
 * An endpoint of your own in the complete gateway, out of Headgate's stages.
 *
 *     npx tsc && node own-endpoint.js
 *
 * `POST /v1/ask` is the core of a chat, with the guards of the configuration: no tools on the gateway, no
 * deferral, no dry run, and none of the checks that go with them, such as those of addresses; `chat` of
 * `headgate/pipelines` has it all.
 */

import { createGateway, createLog, type Endpoint, type Gateway, type Services } from 'headgate'
import { loadSettings } from 'headgate/config'
import { chatCompletions, createEndpoints } from 'headgate/pipelines'
import { ChatRequest } from 'headgate/schemas'
import {
  answerReply,
  auth,
  chain,
  chatInput,
  estimateChat,
  inspectAnswer,
  inspectRequest,
  limits,
  map,
  namedGuards,
  normalise,
  pipeline,
  providerCall,
  recordUsage,
  routeModel,
  validate
} from 'headgate/stages'

/** Compiles the schema: once, as the endpoint is created anew with each configuration. */
const validChat = validate(ChatRequest)

/**
 * Creates the endpoint. A stage that needs services is given them; a function of one value, such as
 * `chatInput`, goes into `map`.
 */
export function ask (services: Services): Endpoint {
  return {
    name: 'chat', // keys that list endpoints need this one
    method: 'POST',
    path: '/v1/ask',
    body: 'json',
    maxBodyBytes: 1_000_000,
    handle: pipeline(
      auth(services),
      validChat,
      namedGuards(services),
      map(chatInput),
      routeModel(services),
      limits(services, { estimate: estimateChat }),
      inspectRequest(services.textGuards, chatCompletions),
      inspectAnswer(services.textGuards, undefined, chain(providerCall(services, 'chat'), recordUsage())),
      normalise(),
      answerReply(chatCompletions)
    )
  }
}

/** Starts a gateway with this endpoint beside all others. */
export async function startGateway (
  env: NodeJS.ProcessEnv,
  cwd: string
): Promise<{ gateway: Gateway, url: string }> {
  const keys = {
    check: (presented: string) => (presented === 'secret' ? { id: '1', name: 'me' } : undefined)
  }
  const gateway = await createGateway(loadSettings({ env, cwd }), {
    keys, log: createLog('warn'), endpoints: services => [...createEndpoints(services), ask(services)]
  })
  const { host, port } = await gateway.listen()
  return { gateway, url: `http://${host}:${port}` }
}

if (process.argv[1] === import.meta.filename) {
  console.log((await startGateway(process.env, process.cwd())).url)
}
