/** What a gateway says to whoever started it: where it is, who answers, and lines to try it with. */

import { isEverywhere, urlOf, type Address } from '../http/listen.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { ProviderSettings } from '../core/settings.ts'

export interface BannerFacts {
  readonly address: Address
  /** Those that are enabled. */
  readonly providers: readonly ProviderSettings[]
  readonly models: Pick<ModelRegistry, 'list'>
  /** The key that was made just now, if one was. */
  readonly key?: string | undefined
}

/** The lines can be pasted into a shell as they are, once `$HEADGATE_KEY` is set where it is named. */
export function banner ({ address, providers, models, key }: BannerFacts): string {
  const url = urlOf(address)
  const model = exampleModel(providers, models)
  const bearer = key ?? '$HEADGATE_KEY'
  const curl = (options: string, request: object): string =>
    `  curl ${options}${url}/v1/chat/completions -H "Authorization: Bearer ${bearer}"` +
    ` -H "Content-Type: application/json" -d '${JSON.stringify(request)}'`
  return [
    `Headgate listens on ${url}${isEverywhere(address) ? ', and on all other addresses of this machine' : ''}`,
    ...providers.length === 0 ? ['No provider is enabled: set OPENAI_API_KEY or another provider\'s key.'] : [],
    ...providers.map(({ id, kind }) => kind === 'sandbox'
      ? `  ${id}: a simulator; its answers are made up and cost nothing`
      : `  ${id}`),
    '',
    ...key === undefined ? lostKeyNotice : [keyNotice(key)],
    '',
    ...providers.length === 0 ? [] : [
      key === undefined ? 'Try it with one of your keys in HEADGATE_KEY:' : 'Try it:',
      '',
      curl('', { model, messages: hello }),
      '',
      curl('-N ', { model, stream: true, messages: hello }),
      '',
      curl('', { model, messages: question, tools: [weather] }),
      ''
    ]
  ].join('\n')
}

/** Shown even where banners are not: nobody could use the gateway otherwise. */
export function keyNotice (key: string): string {
  return `API key, made because there was none, and not shown again: ${key}`
}

const lostKeyNotice = [
  'Keys are shown once, when they are made. To make another:',
  '  npx headgate keys create --name NAME',
  '  npm run headgate -- keys create --name NAME  # in a clone of the repository'
]

const hello = [{ role: 'user', content: 'Say hello.' }]
const question = [{ role: 'user', content: 'What is the weather in Paris?' }]
const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  }
}

/** The simulator where it is on, else a model known to chat and call tools, else a placeholder. */
function exampleModel (providers: readonly ProviderSettings[], models: Pick<ModelRegistry, 'list'>): string {
  const sandbox = providers.find(({ kind }) => kind === 'sandbox')
  if (sandbox !== undefined) return `${sandbox.id}/echo`
  const chats = models.list().find(({ status, capabilities }) =>
    status === 'enabled' && capabilities['text'] === true && capabilities['tools'] === true)
  return chats?.id ?? `${providers[0]?.id ?? 'provider'}/MODEL`
}
