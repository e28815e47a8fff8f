/**
 * Reads who may use LiteLLM: its keys, teams and users, their limits, and what they have spent in the periods
 * that run. Teams become projects; so does a user with limits and keys that belong to no team.
 */

import { createHash } from 'node:crypto'
import { spreadSpending, type BudgetClock } from './litellm-budgets.ts'
import { countedColumns, readLimits, type ReadLimits } from './litellm-limits.ts'
import { endpointsOf, type ModelScopes, type RouteScope } from './litellm-scopes.ts'
import { ImportedTags } from './litellm-tags.ts'
import { TableRow, type ColumnNote, type ColumnPlan } from './column-plan.ts'
import { entriesOf, isEmpty, objectOrEmpty } from './values.ts'
import { normalEmail } from '../accounts/users.ts'
import type {
  ImportedDay,
  ImportedKey,
  ImportedOrganisation,
  ImportedProject,
  ImportedSpending,
  ImportedUser
} from '../accounts/imported-organisation.ts'
import type { Role } from '../../schemas/admin/common.ts'
import { isContainer, listOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'

export interface AccessOptions {
  readonly rows: ReadonlyMap<string, readonly JsonObject[]>
  readonly plan: ColumnPlan
  readonly scopes: ModelScopes
  /** Slugs of the tool servers by their ids in the database. */
  readonly servers: ReadonlyMap<string, string>
  /** Slugs of tool servers that every key may use. */
  readonly openServers: readonly string[]
  readonly clock: BudgetClock
  /** What keys used by day, by their digests in hex. */
  readonly history: ReadonlyMap<string, readonly ImportedDay[]>
  /** The names of guards by those of guardrails. */
  readonly guardsOf: ReadonlyMap<string, readonly string[]>
}

const roles: Readonly<Record<string, readonly [role: Role, isExact: boolean]>> = {
  proxy_admin: ['admin', true],
  proxy_admin_viewer: ['viewer', false],
  internal_user: ['member', true],
  internal_user_viewer: ['viewer', true]
}

/** The team of the keys that LiteLLM's own page makes for those who are signed in. */
const dashboardTeam = 'litellm-dashboard'
const maxHintLength = 64
/** The user that stands for the master key. */
const masterUser = 'default_user_id'
/** Tables of which only the table of notes speaks, and those that others refer to. */
const notedTables = [
  'LiteLLM_AccessGroupTable',
  'LiteLLM_BudgetTable',
  'LiteLLM_BudgetWindowSpend',
  'LiteLLM_DeprecatedVerificationToken',
  'LiteLLM_EndUserTable',
  'LiteLLM_ModelTable',
  'LiteLLM_ObjectPermissionTable',
  'LiteLLM_OrganizationMembership',
  'LiteLLM_OrganizationTable',
  'LiteLLM_ProjectTable',
  'LiteLLM_TagTable'
]
const nameColumns = [
  'access_group_name',
  'organization_alias',
  'project_alias',
  'user_id',
  'tag_name',
  'budget_id',
  'window_duration',
  'object_permission_id',
  'id'
]
/** Of a user, what only holds for keys of no team. */
const ownColumns = [
  'max_budget',
  'spend',
  'budget_duration',
  'budget_reset_at',
  'models',
  'metadata',
  ...countedColumns.map(([column]) => column)
]
const yearMs = 366 * 24 * 60 * 60 * 1000

/** Members of `metadata` that do something. */
const metadataNotes: ReadonlyMap<string, ColumnNote> = new Map([
  ['model_rpm_limit', ['unsupported', 'there are no limits for one model: restrict `models`']],
  ['model_tpm_limit', ['unsupported', 'there are no limits for one model: restrict `models`']],
  ['temp_budget_increase', ['unsupported', 'raise the budget here while it is in effect']],
  ['team_member_budget_id', ['manual', 'give its members limits under *Members* of the dashboard']],
  ['logging', ['manual', 'each call is in the log and the store: docs/operations.md']]
])

/** Returns what identifies a team or a user in the store, whatever its id looks like. */
function sourceIdOf (id: string): string {
  return createHash('sha256').update(id).digest('base64')
}

interface ProjectSource {
  readonly kind: 'team' | 'user'
  readonly id: string
  readonly name: string
  /** Ids or emails of users. */
  readonly members: readonly string[]
}

export interface ImportedAccess {
  readonly organisation: ImportedOrganisation
  /** `usage` of the configuration: tags of keys and projects. */
  readonly usage: JsonObject
}

/** Reads keys, teams and users; what has no counterpart is in the plan. */
export function readAccess (options: AccessOptions): ImportedAccess {
  return new AccessReader(options).read()
}

class AccessReader {
  readonly #options: AccessOptions
  readonly #budgets: ReadonlyMap<string, TableRow>
  readonly #permissions: ReadonlyMap<string, TableRow>
  readonly #groups: ReadonlyMap<string, TableRow>
  readonly #memberships: readonly TableRow[]
  /** What was spent in the running period, by kind, id and duration. */
  readonly #windows = new Map<string, number>()
  readonly #userIds = new Map<string, string>()
  readonly #blockedTeams = new Set<string>()
  /** Projects with a limit of nothing, which no limit here says: their keys are revoked. */
  readonly #emptyProjects = new Set<string>()
  /** Tags that LiteLLM's projects, which are parts of a team, give to their keys. */
  readonly #tagsOfParts = new Map<string, readonly unknown[]>()

  constructor (options: AccessOptions) {
    this.#options = options
    this.#budgets = this.#byId('LiteLLM_BudgetTable', 'budget_id')
    this.#permissions = this.#byId('LiteLLM_ObjectPermissionTable', 'object_permission_id')
    this.#groups = this.#byId('LiteLLM_AccessGroupTable', 'access_group_id')
    this.#memberships = this.#rows('LiteLLM_TeamMembership', 'user_id')
    for (const row of this.#rows('LiteLLM_BudgetWindowSpend', 'entity_id')) {
      const [kind, id, duration] = ['entity_type', 'entity_id', 'window_duration'].map(name => row.text(name))
      this.#windows.set(`${kind?.toLowerCase()} ${id} ${duration}`, row.number('spend') ?? 0)
    }
  }

  read (): ImportedAccess {
    const users = this.#rows('LiteLLM_UserTable', 'user_alias', 'user_email', 'user_id')
    const named = users.flatMap(row => this.#readUser(row))
    const teams = this.#rows('LiteLLM_TeamTable', 'team_alias', 'team_id')
    for (const team of teams) if (team.isTrue('blocked')) this.#blockedTeams.add(team.text('team_id') ?? '')
    const parts = this.#rows('LiteLLM_ProjectTable')
    const blocked = new Set(
      parts.filter(row => row.isTrue('blocked')).flatMap(row => row.text('project_id') ?? [])
    )
    for (const row of parts) this.#tagsOfParts.set(row.text('project_id') ?? '', tagsOf(row))
    const rows = this.#rows('LiteLLM_VerificationToken', 'key_alias', 'key_name')
    const limitedUsers = new Map(users.flatMap(row => this.#limitedUser(row, rows)))
    const keyTags = new ImportedTags('key', rows.map(nameOfKey))
    const projectTags = new ImportedTags('project', [
      ...teams.map(nameOfTeam), ...[...limitedUsers.values()].map(nameOfUserProject)
    ])
    const keys = rows.flatMap(row => this.#readKey(row, limitedUsers, blocked, keyTags))
    const projects = [
      ...teams.map(row => this.#readTeam(row, keys, projectTags)),
      ...[...limitedUsers.values()].map(row => this.#readUserProject(row, keys))
    ]
    const people = named.map(user => this.#withBudget(user, rows, keys))
    for (const row of this.#memberships) row.noteOthers()
    for (const table of notedTables) this.#rows(table, ...nameColumns).forEach(row => row.noteOthers())
    const isEmpty = ({ project }: ImportedKey): boolean =>
      project !== undefined && this.#emptyProjects.has(project)
    return {
      organisation: {
        users: people,
        projects,
        keys: keys.map(key => (isEmpty(key) ? { ...key, isBlocked: true } : key))
      },
      usage: { ...keyTags.section(), ...projectTags.section() }
    }
  }

  #rows (table: string, ...names: readonly string[]): TableRow[] {
    return (this.#options.rows.get(table) ?? []).map((row, index) => {
      const name = names.map(column => nonEmptyText(row[column])).find(text => text !== undefined)
      return new TableRow(this.#options.plan, table, row, name ?? `row ${index + 1}`)
    })
  }

  #byId (table: string, column: string): Map<string, TableRow> {
    return new Map(this.#rows(table, column).map(row => [row.name, row]))
  }

  #readUser (row: TableRow): ImportedUser[] {
    const id = row.text('user_id') ?? ''
    if (id === masterUser) {
      for (const column of ['user_id', 'user_role']) {
        row.note(column, 'manual', 'the master key: create an admin key, `headgate admin-keys create`')
      }
      return []
    }
    const wanted = row.text('user_role') ?? 'internal_user'
    const [role, isExact] = roles[wanted] ?? ['viewer', false]
    row.note('user_role', isExact ? 'exact' : 'approximate', `${wanted} is ${role} here`)
    const email = row.text('user_email')
    const isEmail = email !== undefined && /^[^\s@<>"]+@[^\s@<>"]+$/.test(email) && email.length <= 254
    this.#userIds.set(id, sourceIdOf(id))
    if (isEmail) this.#userIds.set(normalEmail(email), sourceIdOf(id))
    return [{
      sourceId: sourceIdOf(id),
      name: row.name,
      ...isEmail && { email: normalEmail(email) },
      role,
      createdAtMs: this.#createdAt(row)
    }]
  }

  /**
   * Gives a user the budget that they have as the member of a team, where all of their keys are of this team:
   * a member has one budget here, for all keys that they own.
   */
  #withBudget (
    user: ImportedUser,
    rows: readonly TableRow[],
    keys: readonly ImportedKey[]
  ): ImportedUser {
    const memberships = this.#memberships.filter(row => (
      sourceIdOf(row.text('user_id') ?? '') === user.sourceId && row.text('budget_id') !== undefined
    ))
    const [membership, ...others] = memberships
    const budget = this.#budgets.get(membership?.text('budget_id') ?? '')
    if (membership === undefined || budget === undefined || others.length > 0) return user
    const own = rows.filter(row => sourceIdOf(row.text('user_id') ?? '') === user.sourceId)
    const teams = new Set(own.map(row => row.text('team_id')))
    if (teams.size !== 1 || !teams.has(membership.text('team_id'))) return user
    const { limits, spent } = readLimits(membership, {
      shared: budget, spentIn: () => 0, clock: this.#options.clock
    })
    if (limits === undefined) return user
    membership.note('budget_id', 'exact', 'limits of the user, all of whose keys are of the project')
    const ofKeys = keys.filter(({ createdBy }) => createdBy === user.sourceId)
      .flatMap(({ spent, history = [] }) => [...spent, ...history.map(costOfDay)])
    return {
      ...user,
      limits,
      spent: spreadSpending(spent, user.createdAtMs, fromMs => sumSince(ofKeys, fromMs))
    }
  }

  /** A user whose limits hold for keys of no team: a project of its own counts them together. */
  #limitedUser (row: TableRow, keys: readonly TableRow[]): Array<[id: string, row: TableRow]> {
    const id = row.text('user_id') ?? ''
    const hasKeys = keys.some(key => key.text('user_id') === id && key.text('team_id') === undefined)
    const isLimited =
      row.list('models').length > 0 ||
      ['max_budget', ...countedColumns.map(([column]) => column)].some(name => row.number(name) !== undefined)
    if (hasKeys && isLimited) return [[id, row]]
    for (const column of ownColumns) {
      row.note(column, 'exact', 'holds for keys of no team, and there are none')
    }
    row.noteOthers()
    return []
  }

  #readUserProject (row: TableRow, keys: readonly ImportedKey[]): ImportedProject {
    const id = row.text('user_id') ?? ''
    return this.#project(row, { kind: 'user', id, name: nameOfUserProject(row), members: [id] }, keys)
  }

  #readTeam (row: TableRow, keys: readonly ImportedKey[], allTags: ImportedTags): ImportedProject {
    const id = row.text('team_id') ?? ''
    const members = row.list('members_with_roles').map(objectOrEmpty)
    const admins = members.filter(({ role }) => role === 'admin')
    const adminNote: ColumnNote = ['approximate', 'members; an admin of a team is a member here']
    const memberNote: ColumnNote = ['exact', 'members']
    row.note('members_with_roles', ...(admins.length > 0 ? adminNote : memberNote))
    row.note('members', ...memberNote)
    row.note('admins', ...adminNote)
    row.note('blocked', 'exact', 'its keys are revoked')
    const named = members.flatMap(
      member => nonEmptyText(member['user_id']) ?? nonEmptyText(member['user_email']) ?? []
    )
    return this.#project(row, {
      kind: 'team',
      id,
      name: nameOfTeam(row),
      members: [...named, ...row.texts('members'), ...row.texts('admins')]
    }, keys, allTags)
  }

  #project (
    row: TableRow,
    { kind, id, name, members }: ProjectSource,
    keys: readonly ImportedKey[],
    allTags?: ImportedTags
  ): ImportedProject {
    const sourceId = sourceIdOf(`${kind} ${id}`)
    const { limits, isNothing, spent } = this.#readLimits(row, kind, id)
    if (isNothing) this.#emptyProjects.add(sourceId)
    const models = this.#readModels(row, 'of the project')
    const stages = this.#readStages(row)
    const isTagged = allTags?.add(row, name, tagsOf(row)) === true
    this.#noteMetadata(row, isTagged ? ['tags'] : [])
    this.#noteServers(row)
    row.noteOthers()
    const createdAtMs = this.#createdAt(row)
    const ofKeys = keys.filter(({ project }) => project === sourceId)
      .flatMap(({ spent, history = [] }) => [...spent, ...history.map(costOfDay)])
    const countedSince = (fromMs: number): number => sumSince(ofKeys, fromMs)
    return {
      sourceId,
      name,
      ...models !== undefined && { models },
      ...stages !== undefined && { stages },
      ...limits !== undefined && { limits },
      createdAtMs,
      members: members.flatMap(
        member => this.#userIds.get(member) ?? this.#userIds.get(normalEmail(member)) ?? []
      ),
      spent: spreadSpending(spent, createdAtMs, countedSince)
    }
  }

  #readKey (
    row: TableRow,
    limitedUsers: ReadonlyMap<string, TableRow>,
    blockedProjects: ReadonlySet<string>,
    allTags: ImportedTags
  ): ImportedKey[] {
    const token = row.text('token') ?? ''
    const [team, user] = [row.text('team_id'), row.text('user_id')]
    if (team === dashboardTeam) {
      row.note('token', 'exact', 'a sign-in to its page, which is not carried over')
      return []
    }
    const scope = endpointsOf(row.texts('allowed_routes'))
    if (!/^[0-9a-f]{64}$/.test(token) || administers(scope)) {
      if (administers(scope)) {
        row.note('allowed_routes', 'manual', 'administers LiteLLM: `headgate admin-keys create`')
      } else row.note('token', 'unsupported', 'is not a SHA-256 in hex')
      row.noteOthers()
      return []
    }
    noteRoutes(row, scope)
    const { limits, isNothing, spent } = this.#readLimits(row, 'key', token)
    const models = this.#readModels(row, 'of the key')
    const servers = this.#readServers(row)
    const stages = this.#readStages(row)
    const ofPart = this.#tagsOfParts.get(row.text('project_id') ?? '') ?? []
    const isTagged = allTags.add(row, nameOfKey(row), [...tagsOf(row), ...ofPart])
    this.#noteMetadata(row, isTagged ? ['tags'] : [])
    this.#noteKey(row)
    const isOfUser = team === undefined && user !== undefined && limitedUsers.has(user)
    const source = team !== undefined ? `team ${team}` : isOfUser ? `user ${user}` : undefined
    const createdBy = user === undefined ? undefined : this.#userIds.get(user)
    const [hint, expiresAtMs, previous] = [row.text('key_name'), row.time('expires'), this.#previousOf(token)]
    const createdAtMs = this.#createdAt(row)
    const history = this.#options.history.get(token)
    const costs = history?.map(costOfDay) ?? []
    return [{
      digest: digestOf(token),
      ...previous !== undefined && { previous },
      name: nameOfKey(row),
      ...hint !== undefined && { hint: hint.slice(0, maxHintLength) },
      ...scope.endpoints !== undefined && { endpoints: scope.endpoints },
      ...models !== undefined && { models },
      ...servers !== undefined && { mcpServers: servers },
      ...stages !== undefined && { stages },
      ...limits !== undefined && { limits },
      ...expiresAtMs !== undefined && { expiresAtMs },
      ...source !== undefined && { project: sourceIdOf(source) },
      ...createdBy !== undefined && { createdBy },
      createdAtMs,
      isBlocked:
        row.isTrue('blocked') ||
        isNothing ||
        this.#blockedTeams.has(team ?? '') ||
        blockedProjects.has(row.text('project_id') ?? ''),
      spent: spreadSpending(spent, createdAtMs, fromMs => sumSince(costs, fromMs)),
      ...history !== undefined && { history }
    }]
  }

  #noteKey (row: TableRow): void {
    row.note('expires', 'exact', 'the time at which it expires')
    row.note('blocked', 'exact', 'revoked')
    row.note('team_id', 'exact', 'in the project')
    row.note('project_id', 'approximate', 'in the project of its team')
    for (const [alias, model] of entriesOf(row.object('aliases'))) {
      row.note('aliases', 'unsupported', `no aliases of one key: ${alias} for ${String(model)}`)
    }
    row.noteOthers()
  }

  /** Returns the digest that a rotation has replaced, the last one that works. */
  #previousOf (token: string): ImportedKey['previous'] {
    const [last] = this.#rows('LiteLLM_DeprecatedVerificationToken', 'id')
      .filter(row => row.text('active_token_id') === token)
      .map(row => ({ digest: digestOf(row.text('token') ?? ''), untilMs: row.time('revoke_at') ?? 0 }))
      .filter(({ untilMs }) => untilMs > this.#options.clock.nowMs)
      .toSorted((a, b) => b.untilMs - a.untilMs)
    return last
  }

  #readLimits (row: TableRow, kind: string, id: string): ReadLimits {
    return readLimits(row, {
      shared: kind === 'key' ? this.#budgets.get(row.text('budget_id') ?? '') : undefined,
      spentIn: duration => this.#windows.get(`${kind} ${id} ${duration}`) ?? 0,
      clock: this.#options.clock
    })
  }

  #readModels (row: TableRow, whose: string): readonly string[] | undefined {
    const groups = row
      .texts('access_group_ids')
      .flatMap(id => this.#groups.get(id)?.texts('access_model_names') ?? [])
    row.note('access_group_ids', 'exact', `models ${whose}`)
    const { models, unknown } = this.#options.scopes.read([...row.texts('models'), ...groups])
    if (unknown.length === 0) row.note('models', 'exact', `models ${whose}`)
    else row.note('models', 'manual', `no entry of model_list is ${unknown.join(', ')}: give its --config`)
    return models
  }

  /** Without tool servers there is nothing to restrict. */
  #readServers (row: TableRow): readonly string[] | undefined {
    const { servers, openServers } = this.#options
    if (servers.size === 0) {
      row.note('object_permission_id', 'exact', 'there are no tool servers')
      return undefined
    }
    const permissions = this.#permissions.get(row.text('object_permission_id') ?? '')
    row.note('object_permission_id', 'exact', 'the tool servers of the key')
    const granted = permissions?.texts('mcp_servers').flatMap(id => servers.get(id) ?? []) ?? []
    return [...new Set([...openServers, ...granted])]
  }

  #noteServers (row: TableRow): void {
    const verdict = this.#options.servers.size === 0 ? 'exact' : 'unsupported'
    row.note('object_permission_id', verdict, 'projects have no tool servers of their own: restrict keys')
  }

  /** Returns the guards that inspect all calls; none where the row names no guardrail. */
  #readStages (row: TableRow): readonly string[] | undefined {
    const names = listOf(row.object('metadata')['guardrails']).map(String)
    const unknown = names.filter(name => !this.#options.guardsOf.has(name))
    const stages = names.flatMap(name => this.#options.guardsOf.get(name) ?? [])
    if (unknown.length > 0) {
      row.note(
        'metadata.guardrails',
        'manual',
        `no guard is made of ${unknown.join(', ')}: see docs/guards.md`
      )
    }
    if (stages.length > 0) row.note('metadata.guardrails', 'exact', `guards ${stages.join(', ')}`)
    return stages.length > 0 ? [...new Set(stages)] : undefined
  }

  /** @param noted members that have a note */
  #noteMetadata (row: TableRow, noted: readonly string[]): void {
    const { guardrails, ...metadata } = row.object('metadata')
    if (isContainer(guardrails) && isEmpty(guardrails)) row.note('metadata', 'exact', 'nothing')
    for (const [name, value] of Object.entries(metadata)) {
      if (noted.includes(name)) continue
      const known = metadataNotes.get(name) ?? ['approximate', 'only a description']
      if (value === null || (isContainer(value) && isEmpty(value))) row.note('metadata', 'exact', 'nothing')
      else row.note(`metadata.${name}`, ...known)
    }
  }

  #createdAt (row: TableRow): number {
    return row.time('created_at') ?? this.#options.clock.nowMs - yearMs
  }
}

function nameOfKey (row: TableRow): string {
  return row.text('key_alias') ?? row.text('key_name') ?? 'key of LiteLLM'
}

function nameOfTeam (row: TableRow): string {
  return row.text('team_alias') ?? row.text('team_id') ?? ''
}

function nameOfUserProject (row: TableRow): string {
  return `Keys of ${row.name}`
}

/** Returns the tags that LiteLLM gives to the calls of a key, a team or a project. */
function tagsOf (row: TableRow): readonly unknown[] {
  return listOf(row.object('metadata')['tags'])
}

function costOfDay ({ atMs, nanoUsd }: ImportedDay): ImportedSpending {
  return { fromMs: atMs, nanoUsd }
}

function sumSince (spent: readonly ImportedSpending[], sinceMs: number): number {
  return spent.reduce((sum, { fromMs, nanoUsd }) => sum + (fromMs >= sinceMs ? nanoUsd : 0), 0)
}

/** Returns the digest of a key as the store has it. */
function digestOf (hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64')
}

/** Returns true for a key that may call addresses of administration alone. */
function administers ({ endpoints, unknown }: RouteScope): boolean {
  return endpoints?.length === 0 && unknown.some(route => /^(?:management|global_spend|admin)/.test(route))
}

function noteRoutes (row: TableRow, { endpoints, unknown }: RouteScope): void {
  const served = `endpoints ${endpoints?.join(', ') ?? 'all'}`
  if (unknown.length === 0) row.note('allowed_routes', 'exact', served)
  else row.note('allowed_routes', 'approximate', `${served}, without ${unknown.join(', ')}`)
}
