/** Rules across entries: names that must differ, and names that must exist. */

import { dayMs } from '../core/day.ts'
import { quarterMs } from '../stores/party-spending.ts'
import { budgetProblems } from '../keys/check-budgets.ts'
import { lengthMs } from '../limits/windows.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import {
  guardActionOf, guardKindEntries, guardKindOf, guardKinds, type GuardConfig
} from '../../schemas/config/guards.ts'
import type { Config } from '../../schemas/config.ts'
import { defaultChatEntries } from '../../schemas/config/limits.ts'
import { isDashboardUnsafe } from '../dashboard/is-served.ts'
import { endpointNames } from '../../schemas/endpoints.ts'
import { nearestWord } from '../text/nearest-word.ts'
import { SandboxOptionError, sandboxOptionNames, sandboxOptions } from '../sandbox/options.ts'
import { PatternError } from '../text/parse-pattern.ts'
import { LinearPattern } from '../text/linear-pattern.ts'
import { boundedPattern } from '../text/bounded-pattern.ts'
import { builtInPattern } from '../guards/pattern-filter.ts'
import { builtInNames } from '../guards/built-in-patterns.ts'
import { isServerPattern } from '../mcp/tool-scope.ts'
import { checkModels, type KnownNames } from './check-models.ts'
import { isUsageColumn, usageColumns } from '../stores/usage-columns.ts'
import { parseIsoDate } from '../core/parse-iso-date.ts'
import { kindOf, kinds } from '../providers/kinds.ts'
import { kindNamed, unsupportedService } from '../models/kind-names.ts'
import type { Path } from './path.ts'
import type { Report } from './report.ts'

/** Endpoints of the APIs that providers have. */
const endpointPath = /\/(?:chat\/completions|completions|responses|messages|embeddings)\/*$/

/** Reports conflicts between entries that are valid individually. */
export function checkCrossReferences (config: Config, known: KnownNames, report: Report): void {
  checkProviders(config, report)
  checkModels(config, known, report)
  checkToolServers(config, report)
  checkListening(config, report)
  checkDashboard(config, report)
  checkHosts(config, report)
  checkKeys(config, report)
  checkBudgets(['limits', 'default_key_limits'], config.limits.default_key_limits, report)
  checkNamedBudgets(config, report)
  checkPorts(config, report)
  checkCoordination(config, report)
  checkChatSizes(config, report)
  checkUsageEntries(config, report)
  checkKeptBodies(config, report)
  checkGuards(config, report)
}

function checkProviders ({ providers }: Config, report: Report): void {
  for (const [
    id,
    { enabled, kind, base_url: baseUrl, headers, options, api_key: key, api_keys: keys, cache_marks: marks }
  ] of Object.entries(providers)) {
    const { inProcess, baseUrl: usual = '', traits } = kinds[kindOf(id, kind)]
    const needsKey =
      enabled && inProcess === undefined && baseUrl === undefined && usual.startsWith('https://')
    if (needsKey && key === undefined && keys === undefined && Object.keys(headers).length === 0) {
      report.warn(
        ['providers', id],
        'has no api_key, so the provider will refuse calls without `X-Provider-Key`',
        { part: 'name', unless: ['providers', id, 'api_key'] }
      )
    }
    checkHeaders(['providers', id, 'headers'], headers, report)
    if (marks === 'auto' && traits?.marksPrompts !== true) {
      report.add(
        ['providers', id, 'cache_marks'], 'is for providers of the Messages API: set `off`, or leave it out'
      )
    }
    if (key !== undefined && keys !== undefined) {
      report.add(['providers', id, 'api_keys'], 'cannot be combined with api_key', { part: 'name' })
    }
    if (kinds[kindOf(id, kind)].inProcess === 'simulator') checkSandboxOptions(id, options, report)
    else checkOptions(id, kindOf(id, kind), options, report)
    if (baseUrl !== undefined) {
      if (!URL.canParse(baseUrl)) report.add(['providers', id, 'base_url'], 'is not a valid URL')
      else if (endpointPath.test(new URL(baseUrl).pathname)) {
        const message = 'ends in the path of an endpoint, which each request adds: leave it out'
        report.warn(['providers', id, 'base_url'], message)
      }
    } else if (kinds[kindOf(id, kind)].baseUrl === undefined) {
      const meant = kind === undefined ? nearestWord(id, Object.keys(kinds)) : undefined
      // the name that another gateway has for a service
      const named = kind === undefined ? kindNamed(id) : undefined
      const unserved = kind === undefined ? unsupportedService(id) : undefined
      const like = meant === undefined ? undefined : `providers.${meant}`
      const message = unserved === undefined
        ? 'is required: this kind has no public address'
        : `is required: ${unserved} has no kind of its own`
      report.add(['providers', id, 'base_url'], message, {
        part: 'name',
        suggestion: unserved !== undefined
          ? undefined
          : named === undefined || named === kindOf(id, kind) ? like : `kind: ${named}`,
        unless: ['providers', id, 'kind']
      })
    }
  }
}

/** Warns about options that have no effect because nothing reads them. */
function checkOptions (
  id: string,
  kind: ProviderKind,
  options: Readonly<Record<string, unknown>>,
  report: Report
): void {
  for (const [name, value] of Object.entries(options)) {
    const path = ['providers', id, 'options', name]
    if (kinds[kind].options?.includes(name) !== true)
      report.warn(path, 'has no effect for this kind', { part: 'name' })
    else if (typeof value !== 'string') report.add(path, 'must be a string')
  }
}

function checkSandboxOptions (id: string, options: Readonly<Record<string, unknown>>, report: Report): void {
  const path = ['providers', id, 'options']
  for (const name of Object.keys(options)) {
    if (sandboxOptionNames.includes(name)) continue
    report.add([...path, name], 'unknown entry', {
      part: 'name',
      suggestion: nearestWord(name, sandboxOptionNames)
    })
  }
  try {
    sandboxOptions(options)
  } catch (error) {
    if (!(error instanceof SandboxOptionError)) throw error
    report.add([...path, error.option], error.rule)
  }
}

/** Connection-level headers: a request with one of them cannot be sent at all. */
const connectionHeaders = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade'
])

function checkHeaders (path: Path, headers: Readonly<Record<string, string>>, report: Report): void {
  const seen = new Set<string>()
  for (const given of Object.keys(headers)) {
    const name = given.toLowerCase()
    if (connectionHeaders.has(name))
      report.add([...path, given], 'is a header of the connection and cannot be set', { part: 'name' })
    else if (seen.has(name)) report.add([...path, given], 'is a duplicate', { part: 'name' })
    seen.add(name)
  }
}

function checkToolServers ({ mcp_servers: servers, tools }: Config, report: Report): void {
  if (tools.registry_url !== undefined && !URL.canParse(tools.registry_url)) {
    report.add(['tools', 'registry_url'], 'is not a valid URL')
  }
  if (tools.proxy !== undefined && !URL.canParse(tools.proxy)) {
    report.add(['tools', 'proxy'], 'is not a valid URL')
  }
  if (tools.proxy_credentials !== undefined && tools.proxy === undefined) {
    report.add(['tools', 'proxy_credentials'], 'requires proxy', { part: 'name' })
  }
  for (const [slug, { url, command, args, env, headers }] of Object.entries(servers)) {
    const path = ['mcp_servers', slug]
    checkHeaders([...path, 'headers'], headers, report)
    if (url === undefined && command === undefined) {
      report.add(path, 'requires a url or a command', { part: 'name', unless: [...path, 'url'] })
    } else if (url !== undefined && command !== undefined) {
      report.add([...path, 'command'], 'cannot be combined with url', { part: 'name' })
    } else if (url !== undefined) {
      if (!URL.canParse(url)) report.add([...path, 'url'], 'is not a valid URL')
      if (args.length > 0) report.add([...path, 'args'], 'requires command', { part: 'name' })
      if (Object.keys(env).length > 0) {
        report.add([...path, 'env'], 'requires command', { part: 'name' })
      }
    } else if (Object.keys(headers).length > 0) {
      report.add([...path, 'headers'], 'requires url', { part: 'name' })
    }
  }
}

/**
 * Refuses a port in the host: colons are allowed in IPv6 addresses only, and the port is a separate entry.
 */
function checkListening ({ server: { host, data_dir: directory } }: Config, report: Report): void {
  if (/^~(?:\/|$)/.test(directory)) {
    report.add(['server', 'data_dir'], 'begins with `~`, which only shells replace: write the whole path')
  }
  if (host.includes(':') && isIP(host) === 0) {
    report.add(['server', 'host'], 'is not a valid address; the port is `server.port`')
  }
}

/** Refuses to serve the dashboard where passwords and sessions would be sent in cleartext. */
function checkDashboard (
  { dashboard: { enabled, insecure }, server: { host, trust_proxy: trustProxy, tls } }: Config,
  report: Report
): void {
  if (
    !isDashboardUnsafe({
      dashboard: { enabled, insecure },
      server: { host, trustProxy, ...tls !== undefined && { tls } }
    })
  ) {
    return
  }
  report.add(
    ['server', 'host'],
    'is reachable from other machines, where the dashboard needs TLS: set `server.tls`, or `server.trust_proxy: true` behind a proxy that ' +
      'terminates TLS; or `dashboard: false` for none, or `dashboard.insecure: true` to send passwords in cleartext'
  )
}

/** Refuses mistyped ranges: they would count as host names and allow nothing. */
function checkHosts ({ tools }: Config, report: Report): void {
  for (const [index, host] of tools.allowed_hosts.entries()) {
    const path = ['tools', 'allowed_hosts', index]
    const [name = '', port, ...more] = host.split(':')
    if (host.includes('/')) {
      if (!ipaddr.isValidCIDR(host)) report.add(path, 'is not a range of addresses')
      else if (isMapped(host)) report.add(path, 'must be an IPv4 range')
    } else if (more.length > 0) {
      if (isIP(host) === 0 && isIP(host.replace(/:\d+$/, '')) === 0) {
        report.add(path, 'is not a valid address')
      }
    } else if (port !== undefined && !(/^\d+$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535)) {
      report.add(path, 'has an invalid port')
    } else if (/^[\d.]+$/.test(name) && isIP(name) === 0) {
      report.add(path, 'is not a valid address')
    }
  }
}

/** Mapped addresses are compared as IPv4, so such a range would match nothing. */
function isMapped (range: string): boolean {
  const [address] = ipaddr.parseCIDR(range)
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()
}

function checkBudgets (path: Path, limits: Config['limits']['default_key_limits'], report: Report): void {
  for (const { path: at, message } of budgetProblems(limits ?? {})) report.add([...path, ...at], message)
}

/** A longer window of an end user would exceed the retention of its sums. */
const maxEndUserDays = 366

function checkNamedBudgets ({ limits, end_users: endUsers }: Config, report: Report): void {
  checkEach(
    limits.tags.map(({ tag, ...budgets }) => [tag, budgets]),
    ['limits', 'tags'],
    'tag',
    report
  )
  checkEach(
    limits.models.map(({ model, ...budgets }) => [model, budgets]),
    ['limits', 'models'],
    'model',
    report
  )
  for (const [field, entries] of [['tags', limits.tags], ['models', limits.models]] as const) {
    for (const [index, { budget, budgets }] of entries.entries()) {
      checkQuarters(['limits', field, index], { budget, budgets }, report)
    }
  }
  const { default_budget: budget, budgets } = endUsers
  const given = { ...budget !== undefined && { budget }, ...budgets !== undefined && { budgets } }
  for (const { path: [first, ...rest], message } of budgetProblems(given)) {
    const path = ['end_users', first === 'budget' ? 'default_budget' : 'budgets', ...rest]
    report.add(path, message.replace('`budget`', '`default_budget`'))
  }
  checkQuarters(['end_users'], { default_budget: budget, budgets }, report)
  for (const { path, each: { per, every } } of entriesOf({ default_budget: budget, budgets })) {
    if (per === 'total') {
      report.add(['end_users', ...path, 'per'], 'must be a period that ends: hour, day, week or month')
    }
    if (every !== undefined && lengthMs(every) > maxEndUserDays * dayMs) {
      report.add(['end_users', ...path, 'every'], `must be at most ${maxEndUserDays}d`)
    }
  }
}

type Budgets = NonNullable<Config['end_users']['budgets']>
type BudgetFields = Readonly<Record<string, Budgets | Budgets[number] | undefined>>

/** Lists budgets with their paths: single ones, and those in lists. */
function entriesOf (fields: BudgetFields): Array<{ readonly path: Path, readonly each: Budgets[number] }> {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined) return []
    return Array.isArray(value)
      ? value.map((each, index) => ({ path: [name, index], each }))
      : [{ path: [name], each: value }]
  })
}

/** Checks that windows of named parties begin at a quarter of an hour, the smallest unit of their sums. */
function checkQuarters (path: Path, fields: BudgetFields, report: Report): void {
  const reason = 'this usage is totalled in 15-minute intervals'
  for (const { path: at, each: { every, from } } of entriesOf(fields)) {
    if (every !== undefined && lengthMs(every) % quarterMs > 0) {
      report.add([...path, ...at, 'every'], `must be a multiple of 15m, such as 15m, 6h or 30d: ${reason}`)
    }
    if (from !== undefined && parseIsoDate(from) % quarterMs > 0) {
      report.add(
        [...path, ...at, 'from'],
        `must be at a quarter of an hour, such as 2030-01-31T00:15:00Z: ${reason}`
      )
    }
  }
}

function checkEach (
  entries: ReadonlyArray<readonly [name: string, budgets: Config['limits']['default_key_limits']]>,
  path: Path,
  field: string,
  report: Report
): void {
  const names = new Set<string>()
  for (const [index, [name, budgets]] of entries.entries()) {
    checkBudgets([...path, index], budgets, report)
    if (names.has(name)) report.add([...path, index, field], `another entry has this ${field}`)
    names.add(name)
  }
}

function checkKeys (config: Config, report: Report): void {
  const { keys } = config
  const names = new Set<string>()
  for (const [index, key] of keys.entries()) {
    const { name, endpoints = [], mcp_servers: mcpServers = [], expires_at: expiresAt } = key
    checkBudgets(['keys', index, 'limits'], key.limits, report)
    if (names.has(name)) report.add(['keys', index, 'name'], 'another key has this name')
    names.add(name)
    checkEndpoints(['keys', index], endpoints, report)
    checkServerScope(['keys', index, 'mcp_servers'], mcpServers, config, report)
    checkGuardNames(['keys', index, 'stages'], key.stages ?? [], config, report)
    const expiresAtMs = expiresAt === undefined ? Infinity : parseIsoDate(expiresAt)
    if (Number.isNaN(expiresAtMs)) report.add(['keys', index, 'expires_at'], 'is not a date')
    else if (expiresAtMs <= Date.now()) report.warn(['keys', index, 'expires_at'], 'is in the past')
  }
}

/** Reports endpoints of a key that do not exist. */
export function checkEndpoints (path: Path, endpoints: readonly string[], report: Report): void {
  for (const [position, endpoint] of endpoints.entries()) {
    if (endpointNames.includes(endpoint)) continue
    report.add([...path, 'endpoints', position], `must be one of ${endpointNames.join(', ')}`, {
      suggestion: nearestWord(endpoint, endpointNames)
    })
  }
}

/** Reports problems with the tool servers of a key. */
export function checkServerScope (
  path: Path,
  slugs: readonly string[],
  { mcp_servers: servers, tools }: Config,
  report: Report
): void {
  for (const [position, slug] of slugs.entries()) {
    const at = [...path, position]
    if (!isServerPattern(slug)) report.add(at, 'must be `org/name` or `*`')
    else if (slug !== '*' && servers[slug] === undefined && tools.registry_url === undefined) {
      report.warn(at, 'is not in mcp_servers', { suggestion: nearestWord(slug, Object.keys(servers)) })
    }
  }
}

function checkPorts ({ server, metrics }: Config, report: Report): void {
  if (metrics !== undefined && metrics.port !== 0 && metrics.port === server.port) {
    report.add(['metrics', 'port'], 'is the port of the API (server.port); metrics need a separate port')
  }
}

function checkCoordination ({ coordination: { sentinel, cluster } }: Config, report: Report): void {
  if (sentinel !== undefined && cluster) {
    report.add(['coordination', 'sentinel'], 'cannot be combined with cluster', { part: 'name' })
  }
}

/** What `{"role":"user","content":"a"}` or `{"type":"text","text":"a"}` adds to the values of a body. */
const valuesPerEntry = 40
/** What the rest of a request takes at least: its braces and brackets, and the name of its model. */
const otherValues = 50

/** Warns about sizes that no request can have; not about defaults where only `json_values` was lowered. */
function checkChatSizes ({ limits }: Config, report: Report): void {
  const most = Math.max(0, Math.floor((limits.json_values - otherValues) / valuesPerEntry))
  for (const name of ['chat_messages', 'chat_parts'] as const) {
    if (limits[name] <= Math.max(most, defaultChatEntries)) continue
    report.warn(
      ['limits', name],
      `cannot be reached in a request: limits.json_values (${limits.json_values}) has room for ${most}, each with one word`
    )
  }
}

function checkGuards ({ stages, providers }: Config, report: Report): void {
  const names = new Set<string>()
  for (const [index, stage] of stages.entries()) {
    const path = ['stages', index]
    if (names.has(stage.name)) report.add([...path, 'name'], 'another entry has this name')
    names.add(stage.name)
    checkStageKind(path, stage, report)
    checkStageModel(path, stage, providers, report)
    for (const [position, given] of (stage.patterns ?? []).entries()) {
      checkStagePattern([...path, 'patterns', position], given, report)
    }
  }
}

/** Reports guards that are not configured. */
export function checkGuardNames (
  path: Path,
  names: readonly string[],
  { stages }: Config,
  report: Report
): void {
  const known = stages.map(({ name }) => name)
  for (const [position, name] of names.entries()) {
    if (known.includes(name)) continue
    report.add([...path, position], 'is not the name of a guard in stages', {
      suggestion: nearestWord(name, known)
    })
  }
}

/** Reports entries that a kind of guard requires or does not accept. */
function checkStageKind (path: Path, stage: GuardConfig, report: Report): void {
  const { use, action } = stage
  const { needs, takes, actions } = guardKinds[guardKindOf(use)]
  const known = new Set<string>([...needs, ...takes])
  for (const entry of needs) {
    if (!(entry in stage)) report.add(path, `\`use: ${use}\` needs \`${entry}\``)
  }
  for (const entry of guardKindEntries) {
    if (entry in stage && !known.has(entry)) {
      report.add([...path, entry], `\`use: ${use}\` has no such entry`, { part: 'name' })
    }
  }
  if (action !== undefined && !actions.some(one => one === action)) {
    report.add([...path, 'action'], `\`use: ${use}\` can only ${actions.join(' or ')}`)
  }
  checkReversible(path, stage, report)
  checkDuring(path, stage, report)
}

/** Reports a guard that cannot inspect a request while it is being sent. */
function checkDuring (path: Path, { use, action, at, during = false }: GuardConfig, report: Report): void {
  if (!during) return
  if (guardActionOf({ use, action }) !== 'refuse') {
    report.add([...path, 'during'], 'needs `action: refuse`: the request is sent as it is')
  }
  if (!at.includes('request') && !at.includes('tool_result')) {
    report.add([...path, 'during'], 'needs `request` or `tool_result` in `at`')
  }
}

/** Reports what a reversible guard cannot do. */
function checkReversible (
  path: Path,
  { use, action, at, reversible = false, unmask_for: unmaskFor = [] }: GuardConfig,
  report: Report
): void {
  if (reversible && guardActionOf({ use, action }) !== 'mask') {
    report.add([...path, 'reversible'], 'needs `action: mask`')
  }
  if (unmaskFor.length === 0) return
  if (!reversible) report.add([...path, 'unmask_for'], 'needs `reversible: true`')
  // A tool may repeat its arguments in its result.
  if (!at.includes('tool_result')) report.add([...path, 'unmask_for'], 'needs `tool_result` in `at`')
}

/** Reports a guard's model that no configured provider can have. */
function checkStageModel (
  path: Path,
  { use, model }: GuardConfig,
  providers: Config['providers'],
  report: Report
): void {
  const kind = guardKindOf(use)
  if (model === undefined || (kind !== 'moderation' && kind !== 'prompt_injection')) return
  const [id = ''] = model.split('/', 1)
  const entry = providers[id]
  if (entry === undefined || !entry.enabled || id === model) {
    report.add(
      [...path, 'model'],
      'must be `provider/model`, of a provider of this configuration that is enabled'
    )
    return
  }
  const { adapters } = kinds[kindOf(id, entry.kind)]
  if (typeof adapters !== 'function' && kind === 'moderation' && adapters.moderation === undefined) {
    report.add([...path, 'model'], 'belongs to a provider without a moderation API')
  }
}

function checkStagePattern (
  path: Path,
  given: NonNullable<GuardConfig['patterns']>[number],
  report: Report
): void {
  if (typeof given === 'string') {
    if (builtInPattern(given) === undefined) {
      report.add(path, `must be one of ${builtInNames.join(', ')}, or a map of \`name\` and \`match\``, {
        suggestion: nearestWord(given, builtInNames)
      })
    }
    return
  }
  try {
    boundedPattern(given.match, given.max_length)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    report.add([...path, 'match'], error.message)
  }
}

function checkUsageEntries ({ usage }: Config, report: Report): void {
  const keys = new Set<string>()
  for (const [index, { key }] of usage.keys.entries()) {
    if (keys.has(key)) report.add(['usage', 'keys', index, 'key'], 'another entry has this key')
    keys.add(key)
  }
  const projects = new Set<string>()
  for (const [index, { project }] of usage.projects.entries()) {
    if (projects.has(project)) {
      report.add(['usage', 'projects', index, 'project'], 'another entry has this project')
    }
    projects.add(project)
  }
  const routes = new Set<string>()
  for (const [index, { route }] of usage.routes.entries()) {
    if (routes.has(route)) report.add(['usage', 'routes', index, 'route'], 'another entry has this route')
    routes.add(route)
  }
  for (const [name, entry] of Object.entries(usage.exports)) {
    checkExport(['usage', 'exports', name], entry, report)
  }
}

function checkExport (
  path: Path,
  { directory, s3, columns = [] }: Config['usage']['exports'][string],
  report: Report
): void {
  if (directory === undefined && s3 === undefined) {
    report.add(path, 'requires a directory or s3', { part: 'name', unless: [...path, 's3'] })
  } else if (directory !== undefined && s3 !== undefined) {
    report.add([...path, 's3'], 'cannot be combined with directory', { part: 'name' })
  }
  if (s3?.endpoint !== undefined && !URL.canParse(s3.endpoint)) {
    report.add([...path, 's3', 'endpoint'], 'is not a valid URL')
  }
  for (const [index, column] of columns.entries()) {
    if (isUsageColumn(column)) continue
    report.add([...path, 'columns', index], 'is not a column of usage records', {
      suggestion: nearestWord(column, usageColumns)
    })
  }
}

function checkKeptBodies ({ calls, telemetry }: Config, report: Report): void {
  const content = telemetry.otlp?.content
  if (content !== undefined) {
    checkRedaction(['telemetry', 'otlp', 'content', 'redact'], content.redact, report)
  }
  const projects = new Set<string>()
  for (const [index, { project, redact }] of calls.keep_bodies.entries()) {
    const path = ['calls', 'keep_bodies', index]
    if (projects.has(project)) report.add([...path, 'project'], 'another entry has this project')
    projects.add(project)
    checkRedaction([...path, 'redact'], redact, report)
  }
}

function checkRedaction (
  path: Path,
  { patterns }: { readonly patterns: readonly string[] },
  report: Report
): void {
  for (const [index, pattern] of patterns.entries()) {
    checkPattern([...path, 'patterns', index], pattern, report)
  }
}

function checkPattern (path: Path, pattern: string, report: Report): void {
  try {
    void new LinearPattern([pattern])
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    report.add(path, error.message)
  }
}
