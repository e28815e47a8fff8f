/**
 * The only place that decides what a key may make a provider do with the gateway's credential. Dialects and
 * kinds of requests list what a request uses (`ProviderUse`); this stage allows or refuses each use.
 */

import { GatewayError } from '../core/errors.ts'
import { budgetsOf, checkPriced } from '../limits/priced-routes.ts'
import { mayNameUrls } from '../mcp/tool-scope.ts'
import { mayUseModel } from '../models/scope.ts'
import { map, type PassThroughStage } from '../pipeline/stage.ts'
import { speaksDialect } from '../providers/speaks-dialect.ts'
import { kinds } from '../providers/kinds.ts'
import { shorten } from '../text/shorten.ts'
import { maxUrlLength } from '../../schemas/url.ts'
import { contextOf, type RoutedCall } from '../core/call.ts'
import type { ProviderUse } from '../core/provider-use.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Provider } from '../providers/provider.ts'
import type { Services } from '../services.ts'

/**
 * Checks everything a request uses at its provider, besides the chosen model, against the rights of its key:
 * one call in, the same call out. Runs after `routeModel`, since it needs the providers and models.
 *
 * @param usesOf lists what the input uses
 * @param dialect lists what a request in the caller's own dialect uses
 * @throws GatewayError `insufficient_permissions` naming the field
 */
export function checkProviderUses<R, C> (
  { providers, settings, namedBudgets }: Pick<Services, 'providers' | 'settings' | 'namedBudgets'>,
  usesOf: (request: R) => readonly ProviderUse[],
  dialect: Pick<Dialect<never, C>, 'uses' | 'directDialect'> = {}
): PassThroughStage<RoutedCall<R>> {
  const hosts = new Map(
    settings.providers.map(({ id, kind, baseUrl }) => [id, hostsOf(baseUrl, kinds[kind].baseUrl)])
  )
  return map(<T extends RoutedCall<R>>(call: T): T => {
    const asWritten = dialect.uses?.(contextOf(call)) ?? []
    for (const use of usesOf(call.request)) check(use, call, false)
    for (const use of asWritten) check(use, call, true)
    return call
  })

  /**
   * Other models, servers and tools matter only if a provider gets the caller's own request: translations
   * omit them.
   */
  function check (use: ProviderUse, call: RoutedCall<unknown>, isAsWritten: boolean): void {
    const { key, routes } = call
    const direct = isAsWritten
      ? routes.filter(({ providerId }) => speaksDialect(providers.get(providerId), dialect.directDialect))
      : []
    switch (use.kind) {
      case 'object': return checkObject(call, use.param)
      case 'address':
        if (routes.some(({ providerId }) => isAt(use.url, hosts.get(providerId) ?? []))) {
          checkObject(call, use.param)
        }
        return
      case 'model': return checkModel(use.name, use.param)
      case 'default_model': return checkModel('*', use.param)
      case 'tool_server':
        if (direct.length > 0 && !mayNameUrls(key)) {
          throw refused('This API key may not use tool servers by URL.', use.param)
        }
        return
      case 'unpriced':
        if (direct.length > 0) checkPriced(use.param, budgetsOf(call, settings, namedBudgets))
        return
      case 'router_field':
        if (
          direct.length === 0 &&
          !routes.some(({ providerId }) => passesOn(providers.get(providerId), use.param))
        ) {
          return
        }
        checkPriced(use.param, budgetsOf(call, settings, namedBudgets))
        if (key.models !== undefined) {
          throw refused(
            `This API key may use some models only, and \`${use.param}\` may choose another: leave it out.`,
            use.param
          )
        }
        return
      case 'unknown_tool':
        if (direct.length === 0) return
        checkPriced(use.param, budgetsOf(call, settings, namedBudgets))
        if (key.models !== undefined) {
          checkModel('*', use.param, `a tool of the type \`${shorten(use.name)}\``)
        }
        return
      default: use satisfies never
    }

    /**
     * A later attempt may send the same request to another provider of the dialect. `*` stands for any model
     * of it.
     */
    function checkModel (
      name: string,
      param: string,
      what = name === '*' ? 'the default model of this tool' : `the model \`${shorten(name)}\``
    ): void {
      if (direct.every(({ providerId }) => mayUseModel(key, `${providerId}/${name}`))) return
      throw refused(
        `This API key may not use ${what}.${name === '*' ? ' Name a model that the key may use, or leave the tool out.' : ''}`,
        param
      )
    }
  }
}

/**
 * Refuses objects in the provider's account: all keys of the gateway share it, so each key could reach
 * objects of the others. A caller with their own account may use everything in it.
 */
function checkObject ({ key, providerKey }: RoutedCall<unknown>, param: string): void {
  if (providerKey !== undefined || key.providerObjects === true) return
  throw refused(
    `${param}: this API key may not use what is stored in the gateway's account at the provider, such as ` +
      'files, recordings, containers, caches and conversations. Send the content itself, such as a file in ' +
      'base64, or your own key in X-Provider-Key.',
    param
  )
}

/** Returns true if a provider gets a field of chat requests that this gateway does not know. */
function passesOn (provider: Provider | undefined, field: string): boolean {
  return provider?.quirks.extraFields?.includes(field) === true
}

function hostsOf (...baseUrls: ReadonlyArray<string | undefined>): readonly string[] {
  return baseUrls.flatMap(url => url !== undefined && URL.canParse(url) ? [new URL(url).hostname] : [])
}

/**
 * Returns true for an address at one of the hosts, and for one that only the provider could read (`gs://`).
 * An address above the maximum length counts as such without being parsed, which would take a second for some
 * megabytes.
 */
function isAt (url: string, hosts: readonly string[]): boolean {
  if (url.length > maxUrlLength) return true
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return !/^https?:$/.test(protocol) || hosts.includes(hostname.replace(/\.$/, ''))
}

function refused (message: string, param: string): GatewayError {
  return new GatewayError('insufficient_permissions', { message, param })
}
