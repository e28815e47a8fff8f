/** Prints where a gateway listens, its providers, and commands to try it. */

import { dashboardLink } from '../dashboard/link.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import { isEverywhere, urlOf, type Address } from '../http/listen.ts'
import { kinds } from '../providers/kinds.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { ProviderSettings } from '../core/settings.ts'

export interface BannerFacts {
  readonly address: Address
  /** The enabled ones. */
  readonly providers: readonly ProviderSettings[]
  readonly models: Pick<ModelRegistry, 'list'>
  /** The key that was just created, if any. */
  readonly key?: string | undefined
  readonly hasDashboard?: boolean
  /** The token of the link with which the owner signs in, if it was just created. */
  readonly linkToken?: string | undefined
  /** The address in links. Default: where it listens. */
  readonly publicUrl?: string | undefined
}

/** Returns lines to paste into a shell, once `$HEADGATE_API_KEY` is set there. */
export function banner ({
  address,
  providers,
  models,
  key,
  hasDashboard = false,
  linkToken,
  publicUrl
}: BannerFacts): string {
  const url = urlOf(address)
  const model = exampleModel(providers, models)
  const bearer = key ?? '$HEADGATE_API_KEY'
  const curl = (options: string, request: object): string =>
    `  curl ${options}${url}/v1/chat/completions -H "Authorization: Bearer ${bearer}"` +
    ` -H "Content-Type: application/json" -d '${JSON.stringify(request)}'`
  return [
    `Headgate listens on ${url}${isEverywhere(address) ? ' and all other addresses of this machine' : ''}`,
    ...(providers.length === 0
      ? ['No provider is enabled: set OPENAI_API_KEY or the key of another provider.']
      : []),
    ...providers.map(({ id, kind }) =>
      kinds[kind].inProcess === 'simulator'
        ? `  ${id}: a simulator; answers are simulated and cost nothing`
        : `  ${id}`
    ),
    '',
    ...(key === undefined ? lostKeyNotice : [keyNotice(key)]),
    ...(hasDashboard ? dashboardNotice(publicUrl ?? url, linkToken) : []),
    '',
    ...(providers.length === 0
      ? []
      : [
          key === undefined ? 'Try it with one of your keys in HEADGATE_API_KEY:' : 'Try it:',
          '',
          curl('', { model, messages: hello }),
          '',
          curl('-N ', { model, stream: true, messages: hello }),
          '',
          curl('', { model, messages: question, tools: [weather] }),
          ''
        ])
  ].join('\n')
}

/** Returns the notice of a new key, printed even without a banner: the gateway is useless without it. */
export function keyNotice (key: string): string {
  return `API key (created because none existed; not shown again): ${key}`
}

function dashboardNotice (url: string, linkToken: string | undefined): string[] {
  if (linkToken === undefined) return [`Dashboard: ${withoutTrailingSlashes(url)}/dashboard/`]
  return [`Dashboard (the link signs you in once, within an hour): ${dashboardLink(url, linkToken)}`]
}

const lostKeyNotice = [
  'Keys are shown once, when they are created. To create another:',
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

/**
 * Chooses the simulator if it is enabled, otherwise the cheapest model that supports chat and tools,
 * otherwise a placeholder.
 */
function exampleModel (providers: readonly ProviderSettings[], models: Pick<ModelRegistry, 'list'>): string {
  const sandbox = providers.find(({ kind }) => kinds[kind].inProcess === 'simulator')
  if (sandbox !== undefined) return `${sandbox.id}/echo`
  const [cheapest] = models
    .list()
    .filter(
      ({ status, capabilities }) =>
        status === 'enabled' && capabilities['text'] === true && capabilities['tools'] === true
    )
    .toSorted((a, b) => (a.price?.output ?? Infinity) - (b.price?.output ?? Infinity))
  return cheapest?.id ?? `${providers[0]?.id ?? 'provider'}/MODEL`
}
