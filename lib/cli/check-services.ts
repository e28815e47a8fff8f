/** Checks what a gateway uses besides its store and its providers, for `headgate doctor`. */

import { once } from 'node:events'
import { createServer } from 'node:net'
import { property } from '../json/type-guards.ts'
import { createToolServers } from '../mcp/tool-servers.ts'
import { readAnswer } from '../net/read-answer.ts'
import { runningAt } from '../process/running-gateway.ts'
import { describeError } from '../text/describe-error.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import type { OidcSettings, Settings } from '../core/settings.ts'

export interface Finding {
  readonly about: string
  /** `note`: not a problem, but worth knowing. */
  readonly state: 'ok' | 'note' | 'problem'
  readonly text: string
}

/**
 * Checks Redis, the identity provider, the metrics port, export targets and each tool server, as far as they
 * are configured.
 */
export async function checkServices (settings: Settings, timeoutMs: number): Promise<Finding[]> {
  const { accounts: { oidc }, toolServers } = settings
  const findings: Array<readonly Finding[] | Finding> = await Promise.all([
    ...settings.coordination.url === undefined ? [] : [redis(settings)],
    ...oidc === undefined ? [] : [issuer(oidc, timeoutMs)],
    ...settings.metrics === undefined ? [] : [metricsPort(settings, settings.metrics)],
    ...Object.keys(settings.usage.exports).length === 0 ? [] : [usageExports(settings, timeoutMs)],
    ...toolServers.map(async ({ slug }) => await toolServer(settings, slug, timeoutMs))
  ])
  return findings.flat()
}

async function usageExports (settings: Settings, timeoutMs: number): Promise<Finding[]> {
  const { exportTargets } = await import('../exports/open-exports.ts')
  const targets = exportTargets(settings, { workFolder: settings.server.dataDir, requestMs: timeoutMs })
  return await Promise.all([...targets].map(async ([name, { destination }]) => {
    const about = `usage.exports.${name}`
    try {
      await destination.check(AbortSignal.timeout(timeoutMs))
      return { about, state: 'ok', text: destination.location }
    } catch (error) {
      return { about, state: 'problem', text: `${destination.location}: ${describeError(error)}` }
    } finally {
      await destination.close()
    }
  }))
}

async function redis (settings: Settings): Promise<Finding> {
  const about = 'redis'
  const { checkRedis } = await import('../process/open-coordination.ts')
  try {
    await checkRedis(settings)
    return { about, state: 'ok', text: 'replies' }
  } catch (error) {
    return { about, state: 'problem', text: describeError(error) }
  }
}

async function issuer ({ issuer: url }: OidcSettings, timeoutMs: number): Promise<Finding> {
  const about = 'accounts.oidc'
  try {
    const address = `${withoutTrailingSlashes(url)}/.well-known/openid-configuration`
    const response = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) })
    const { status, ok, text } = await readAnswer(response)
    const named = property(JSON.parse(text), 'issuer')
    if (
      ok &&
      typeof named === 'string' &&
      withoutTrailingSlashes(named) === withoutTrailingSlashes(url)
    ) {
      return { about, state: 'ok', text: 'the issuer describes itself' }
    }
    return {
      about,
      state: 'problem',
      text: ok
        ? `the issuer calls itself ${String(named).slice(0, 200)}: set accounts.oidc.issuer to that`
        : `${address} responded with HTTP ${status}`
    }
  } catch (error) {
    return { about, state: 'problem', text: `the issuer could not be read: ${describeError(error)}` }
  }
}

async function metricsPort (
  { server }: Settings,
  { host, port }: NonNullable<Settings['metrics']>
): Promise<Finding> {
  const about = 'metrics'
  if (runningAt(server.dataDir) !== undefined) {
    return { about, state: 'ok', text: `at ${host}:${port}, of the gateway that runs` }
  }
  const probe = createServer().listen(port, host)
  try {
    await once(probe, 'listening')
    return { about, state: 'ok', text: `${host}:${port} is free` }
  } catch (error) {
    return { about, state: 'problem', text: `${host}:${port} cannot be used: ${describeError(error)}` }
  } finally {
    probe.close()
  }
}

async function toolServer (settings: Settings, slug: string, timeoutMs: number): Promise<Finding> {
  const { tools, toolServers } = settings
  const servers = createToolServers({
    toolServers: toolServers.filter(server => server.slug === slug),
    tools: { ...tools, connectMs: Math.min(tools.connectMs, timeoutMs) }
  })
  try {
    const open = await servers.open({
      request: { mcp_servers: slug },
      key: { id: '' },
      reservedNames: new Set(),
      signal: new AbortController().signal
    })
    const failure = open.errors[slug]
    return failure === undefined
      ? { about: slug, state: 'ok', text: `${open.offered.length} tools` }
      : { about: slug, state: open.offered.length === 0 ? 'problem' : 'note', text: failure.message }
  } catch (error) {
    return { about: slug, state: 'problem', text: describeError(error) }
  } finally {
    await servers.close()
  }
}
