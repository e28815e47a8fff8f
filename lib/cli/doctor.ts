/** `headgate doctor`: checks the configuration, the store, the keys and each provider. */

import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { configFile, loadSettings, type ConfigSources } from '../config/read-settings.ts'
import { providerKeys } from '../config/environment.ts'
import { openKeyStore } from '../keys/key-store.ts'
import { listModels } from '../models/discovery.ts'
import { describeListFailure } from '../models/model-list-failure.ts'
import { createLookupServices } from '../create-services.ts'
import { certificateExpiries } from '../net/certificates.ts'
import { soonMs } from '../process/check-certificates.ts'
import { openFiles } from '../http/open-files.ts'
import { localPrograms } from '../local/programs.ts'
import { openDatabase } from '../stores/open-database.ts'
import { databasePath, isEmptyFile } from '../stores/sqlite/database-file.ts'
import { describeError } from '../text/describe-error.ts'
import { createLog } from '../log/log.ts'
import { withTimeout } from '../async/with-timeout.ts'
import { kinds } from '../providers/kinds.ts'
import type { Provider } from '../providers/provider.ts'
import type { ProviderSettings, Settings } from '../core/settings.ts'
import { checkServices, type Finding } from './check-services.ts'
import type { Command } from './command.ts'
import { table } from './table.ts'

const timeoutMs = 5_000

export const doctor: Command = {
  usage: `Usage: headgate doctor [-c FILE] [--json]

Checks everything a gateway needs: the configuration, the store and its clock, Redis, the identity provider, certificates, the metrics port and export targets. It also connects to each tool server, and requests each provider's model list, which is free. If the
configuration is invalid, prints its problems as "headgate check" does, and nothing else.

  -c, --config FILE
  --json`,

  run: async (args, terminal) => {
    const { values: { config: file, json } } = parseArgs({
      args: [...args],
      options: { config: { type: 'string', short: 'c' }, json: { type: 'boolean', default: false } }
    })
    const sources = { env: terminal.env, cwd: terminal.cwd, file }
    const settings = loadSettings(sources)
    const findings: Finding[] = [
      { about: 'node', state: 'ok', text: process.version },
      configuration(sources),
      fileLimit(settings),
      ...certificates(settings),
      ...await store(settings),
      ...await checkServices(settings, timeoutMs),
      ...await providers(settings)
    ]
    const ok = findings.every(({ state }) => state !== 'problem')
    terminal.out(json
      ? JSON.stringify({ ok, findings }, null, 2)
      : table(findings.map(({ about, state, text }) => [state, about, text])))
    return ok ? 0 : 1
  }
}

function configuration (sources: ConfigSources): Finding {
  const { path } = configFile(sources)
  return existsSync(path)
    ? { about: 'configuration', state: 'ok', text: path }
    : { about: 'configuration', state: 'note', text: 'no file; using the environment and defaults' }
}

function fileLimit ({ server }: Settings): Finding {
  const { limit, wanted, low, connections } = openFiles(server)
  const about = 'open files'
  if (limit === undefined) return { about, state: 'ok', text: 'this system does not report its limit' }
  if (!low) return { about, state: 'ok', text: `at most ${limit}` }
  return {
    about,
    state: 'note',
    text:
      `at most ${limit}, so at most ${connections} client connections; ` +
      `server.max_client_connections needs ${wanted}: raise the limit, or lower that setting`
  }
}

function certificates (settings: Settings): Finding[] {
  return certificateExpiries(settings).map(({ certificate: about, expiresAtMs }) => {
    const leftMs = expiresAtMs - Date.now()
    const day = new Date(expiresAtMs).toISOString().slice(0, 10)
    if (leftMs < 0) return { about, state: 'problem', text: `the certificate expired on ${day}` }
    return { about, state: leftMs < soonMs ? 'note' : 'ok', text: `the certificate expires on ${day}` }
  })
}

/** Checks the store without creating one. */
async function store (settings: Settings): Promise<Finding[]> {
  const { server: { dataDir }, store: { url }, keys: configured } = settings
  const path = databasePath(dataDir)
  try {
    if (url === undefined && !existsSync(path)) {
      accessSync(nearestFolder(dataDir), constants.W_OK)
      return [
        { about: 'store', state: 'ok', text: `${path} will be created` },
        keyFinding(configured.length, 'the first start creates one')
      ]
    }
    if (url === undefined && isEmptyFile(path)) {
      return [
        {
          about: 'store',
          state: 'problem',
          text: `${path} is empty: restore a backup, or delete it to begin a new store`
        }
      ]
    }
    const database = await openDatabase(settings)
    try {
      await database.checkWritable()
      const keys = await openKeyStore(database, configured)
      keys.close()
      const active = (await keys.list()).filter(({ status }) => status === 'active').length
      return [
        { about: 'store', state: 'ok', text: `${database.name} is writable` },
        ...clockFindings(database.now() - Date.now()),
        keyFinding(active, 'create one with "headgate keys create"')
      ]
    } finally {
      await database.close()
    }
  } catch (error) {
    return [{ about: 'store', state: 'problem', text: describeError(error) }]
  }
}

/** Maximum difference between clocks, in seconds, before leases and recorded times are visibly wrong. */
const maxClockMs = 5000

function clockFindings (aheadMs: number): Finding[] {
  if (Math.abs(aheadMs) <= maxClockMs) return []
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  return [
    {
      about: 'clock',
      state: 'note',
      text:
        `the clock of the store is ${seconds} s ${aheadMs > 0 ? 'ahead' : 'behind'}: ` +
        'records use the clock of this machine'
    }
  ]
}

function keyFinding (active: number, advice: string): Finding {
  return active === 0
    ? { about: 'keys', state: 'note', text: `no active key; ${advice}` }
    : { about: 'keys', state: 'ok', text: `${active} active` }
}

function nearestFolder (path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path))
}

async function providers (settings: Settings): Promise<Finding[]> {
  // Lists are requested below, each with a result of its own, not in the background.
  const checked = settings.providers.filter(({ enabled }) => enabled)
    .map(provider => ({ ...provider, listModels: false }))
  const services = createLookupServices({ ...settings, providers: checked }, { log: createLog('silent') })
  try {
    const findings = await Promise.all(
      checked.map(async entry => await input(entry, services.providers.get(entry.id)))
    )
    return [...findings, ...noProviderFindings(checked)]
  } finally {
    await services.close()
  }
}

/** Explains how to enable a provider when none, or only the simulator, is enabled. */
function noProviderFindings (providers: readonly ProviderSettings[]): Finding[] {
  if (providers.some(({ kind }) => kinds[kind].inProcess !== 'simulator')) return []
  const names = providerKeys.join(', ')
  return providers.length === 0
    ? [{ about: 'providers', state: 'problem', text: `no provider is enabled; set one of ${names}` }]
    : [
        {
          about: 'providers',
          state: 'note',
          text: `only the simulator is enabled; for others set one of ${names}`
        }
      ]
}

async function input (entry: ProviderSettings, provider: Provider | undefined): Promise<Finding> {
  const { id, kind, maxConnections, maxWaitingCalls } = entry
  const { inProcess } = kinds[kind]
  if (inProcess === 'simulator') return { about: id, state: 'ok', text: 'a simulator inside the gateway' }
  if (inProcess === 'programs') return await localFinding(id)
  if (provider === undefined) return { about: id, state: 'ok', text: 'runs inside the gateway' }
  const startMs = performance.now()
  try {
    // The signal ends the request; the race ends even one that ignores it.
    const list = await withTimeout(timeoutMs, listModels(provider, kind, AbortSignal.timeout(timeoutMs)))
    if (list === undefined) {
      return { about: id, state: 'problem', text: `no answer within ${timeoutMs / 1000} s` }
    }
    const ms = Math.round(performance.now() - startMs)
    return {
      about: id,
      state: 'ok',
      text: `responded in ${ms} ms with ${list.length} models${maxConnections === undefined ? '' : `; at most ${maxConnections} connections, ${maxWaitingCalls} calls may wait`}`
    }
  } catch (error) {
    return { about: id, state: 'problem', text: describeListFailure(error, entry) }
  }
}

/** Reports which programs are installed; a missing one only limits what is offered. */
async function localFinding (about: string): Promise<Finding> {
  const { tesseract, pdftoppm, espeak } = await localPrograms()
  const programs = Object.entries({ tesseract, pdftoppm, 'espeak-ng': espeak })
  const found = programs.map(
    ([name, path]) => `${name} ${path === undefined ? 'is not installed' : `is ${path}`}`
  )
  const complete = programs.every(([, path]) => path !== undefined)
  return { about, state: complete ? 'ok' : 'note', text: found.join(', ') }
}
