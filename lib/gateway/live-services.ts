/** Holds the services and endpoints of the configuration in effect, and replaces them while calls run. */

import { withTimeout } from '../async/with-timeout.ts'
import { createServices, type OwnedServices, type ServiceOptions } from '../create-services.ts'
import { closeJudges } from '../guards/text-judge.ts'
import { loggableError } from '../text/describe-error.ts'
import { providerDigests } from '../routing/same-provider.ts'
import type { Endpoint } from '../core/endpoint.ts'
import type { Settings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'
import type { Services } from '../services.ts'

/**
 * Longest wait for model lists before a new configuration is used: some model names are known only from them.
 */
const modelListTimeoutMs = 5000
/**
 * Longest wait before the first call is accepted. It is shorter because an unreachable server delays the
 * start, and no calls are served until then.
 */
const firstModelListTimeoutMs = 1000
/** Longest wait at shutdown until the services of earlier configurations are closed. */
const maxOutgoingMs = 5000

export interface LiveServicesOptions {
  readonly log: Log
  /** Returns what services need in addition to the settings. */
  readonly serviceOptions: (settings: Settings) => Promise<ServiceOptions>
  readonly endpoints: (services: Services) => readonly Endpoint[]
}

/** What a new configuration affects besides the services. */
export interface ReplacementHooks {
  /** Called when it takes effect. */
  readonly onReplaced: () => void
  /** Resolves when no open call uses earlier services. */
  readonly whenIdle: () => Promise<unknown>
}

export class LiveServices {
  readonly #options: LiveServicesOptions
  /** The services for new calls and their endpoints; only `replace` changes them. */
  current: OwnedServices
  endpoints: readonly Endpoint[]
  #digests: ReadonlyMap<string, string>
  /** Services of earlier configurations that are still in use, each with a promise of its close. */
  readonly #outgoing = new Map<OwnedServices, Promise<void>>()
  /** Replacements run one after the other; the last one requested wins. */
  #replaced: Promise<void> = Promise.resolve()
  #isFrozen = false

  private constructor (
    services: OwnedServices, endpoints: readonly Endpoint[], options: LiveServicesOptions
  ) {
    this.#options = options
    this.current = services
    this.endpoints = endpoints
    this.#digests = providerDigests(services.settings.providers)
  }

  static async open (settings: Settings, options: LiveServicesOptions): Promise<LiveServices> {
    const services = await createOrClose(settings, await options.serviceOptions(settings))
    return new LiveServices(services, await endpointsOf(services, options), options)
  }

  /** Returns a digest of a provider and its credentials that is equal in every process. */
  digestOf (providerId: string): string | undefined {
    return this.#digests.get(providerId)
  }

  /** Resolves once the providers have listed their models, or after a second. */
  async whenListed (): Promise<void> {
    await withTimeout(firstModelListTimeoutMs, this.current.listed)
  }

  /** Replaces the configuration once its providers have listed their models, or after 5 seconds. */
  async replace (settings: Settings, hooks: ReplacementHooks): Promise<void> {
    const replaced = this.#replaced.then(async () => await this.#replace(settings, hooks))
    this.#replaced = replaced.catch(() => undefined) // the caller gets the error
    await replaced
  }

  async #replace (settings: Settings, { onReplaced, whenIdle }: ReplacementHooks): Promise<void> {
    const before = this.current
    const services = await createOrClose(settings, {
      ...await this.#options.serviceOptions(settings), previous: before
    })
    await withTimeout(modelListTimeoutMs, services.listed)
    const endpoints = await endpointsOf(services, this.#options)
    if (this.#isFrozen) {
      await services.close()
      return
    }
    this.endpoints = endpoints
    onReplaced()
    this.current = services
    this.#digests = providerDigests(settings.providers)
    const closed = whenIdle()
      .then(async () => {
        await before.mirrors?.whenIdle()
        await before.close()
      })
      .catch((error: unknown) =>
        this.#options.log.error(
          { cause: loggableError(error) },
          'failed to close services of the previous configuration'
        )
      )
      .finally(() => this.#outgoing.delete(before))
    this.#outgoing.set(before, closed)
  }

  /** Prevents further changes of configuration. */
  freeze (): void {
    this.#isFrozen = true
  }

  /** Ends abandoned answers. */
  stopAbandoned (): void {
    for (const { abandonedAnswers } of this.#all()) abandonedAnswers.stop()
  }

  /** Ends mirrored calls, and starts no others. */
  async stopMirrors (): Promise<void> {
    await Promise.all(this.#all().map(async ({ mirrors }) => await mirrors?.close()))
  }

  /** Closes all services. A call that does not end keeps those of its configuration open. */
  async close (): Promise<void> {
    await withTimeout(maxOutgoingMs, Promise.all(this.#outgoing.values()))
    await this.current.close()
  }

  #all (): OwnedServices[] {
    return [this.current, ...this.#outgoing.keys()]
  }
}

/**
 * Creates services.
 *
 * @throws errors of `createServices`, after closing what was opened
 */
async function createOrClose (settings: Settings, options: ServiceOptions): Promise<OwnedServices> {
  try {
    return createServices(settings, options)
  } catch (error) {
    if (options.judges !== undefined) await closeJudges(options.judges)
    await options.alerts?.close()
    await options.usageExports?.close()
    throw error
  }
}

/**
 * Creates the endpoints of services.
 *
 * @throws what the function of the options throws, after closing the services
 */
async function endpointsOf (
  services: OwnedServices,
  { endpoints, log }: LiveServicesOptions
): Promise<readonly Endpoint[]> {
  try {
    return endpoints(services)
  } catch (error) {
    await services.close().catch((failure: unknown) => {
      log.error({ cause: loggableError(failure) }, 'closing unused services failed')
    })
    throw error
  }
}
