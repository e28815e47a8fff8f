/** The users of the organisation: their roles, names and passwords. */

import { sql, type ExpressionBuilder, type Kysely } from 'kysely'
import type { Role } from '../../schemas/admin/common.ts'
import type { User, UserChange } from '../../schemas/admin/organisation.ts'
import { GatewayError } from '../core/errors.ts'
import { fromPartyLimits, toPartyLimits } from '../keys/party-limits.ts'
import { parseLimits } from '../keys/key-rows.ts'
import { spentOf, type Spent } from '../keys/spent-of.ts'
import { counterName } from '../limits/sum-keys.ts'
import type { Database } from '../stores/database.ts'
import type { Tables, UserRow } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'
import { beyond, pageOf, type PageOf, type PageRequest } from '../stores/pages.ts'
import { newId } from './random-tokens.ts'

export interface NewUser {
  readonly name: string
  readonly email?: string | undefined
  readonly role: Role
  readonly projects?: readonly string[]
  /** The hash of it. */
  readonly password?: string | undefined
}

export interface UserChanges {
  readonly name?: string | undefined
  readonly email?: string | undefined
  /** True if someone else sets the email. */
  readonly emailByOther?: boolean
  readonly role?: Role | undefined
  readonly disabled?: boolean | undefined
  /** For all keys that they own together; `null` for none. */
  readonly limits?: UserChange['limits'] | undefined
  /** The hash of it; `null` for none. */
  readonly password?: string | null | undefined
}

/** The last use is written at most once in this time. */
const seenEveryMs = 60_000

export class Users {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore
  readonly #lockRows: Database['lockRows']

  constructor (query: Kysely<Tables>, use: UseStore, lockRows: Database['lockRows']) {
    this.#query = query
    this.#use = use
    this.#lockRows = lockRows
  }

  /** Returns whether there is any user. */
  async exist (): Promise<boolean> {
    return (
      (await this.#use(
        async () => await this.#query.selectFrom('users').select('id').limit(1).executeTakeFirst()
      )) !== undefined
    )
  }

  /** Returns whether any user can sign in with a password. */
  async havePasswords (): Promise<boolean> {
    return (
      (await this.#use(
        async () =>
          await this.#query
            .selectFrom('users')
            .select('id')
            .where('password', 'is not', null)
            .where('disabled_at_ms', 'is', null)
            .limit(1)
            .executeTakeFirst()
      )) !== undefined
    )
  }

  /** Returns whether a user can sign in again without a one-time link. */
  async haveCredential (id: string): Promise<boolean> {
    const user = this.#query.selectFrom('users').select('id').where('id', '=', id)
    const passkeys = this.#query.selectFrom('passkeys').select('user_id').where('user_id', '=', id)
    const identities = this.#query.selectFrom('identities').select('user_id').where('user_id', '=', id)
    const able = user.where(query =>
      query.or([
        query('password', 'is not', null),
        query('id', 'in', passkeys),
        query('id', 'in', identities)
      ])
    )
    return (await this.#use(async () => await able.executeTakeFirst())) !== undefined
  }

  async find (id: string): Promise<UserRow | undefined> {
    return await this.#use(
      async () => await this.#query.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
    )
  }

  async findByEmail (email: string): Promise<UserRow | undefined> {
    return await this.#use(
      async () =>
        await this.#query
          .selectFrom('users')
          .selectAll()
          .where('email', '=', normalEmail(email))
          .executeTakeFirst()
    )
  }

  /** Returns the first enabled owner. */
  async firstOwner (): Promise<UserRow | undefined> {
    return await this.#use(
      async () =>
        await this.#query
          .selectFrom('users')
          .selectAll()
          .where('role', '=', 'owner')
          .where('disabled_at_ms', 'is', null)
          .orderBy('created_at_ms')
          .limit(1)
          .executeTakeFirst()
    )
  }

  /** @throws GatewayError `conflict` when the email is taken */
  async create ({ name, email, role, projects = [], password }: NewUser): Promise<UserRow> {
    const row: UserRow = {
      id: newId('user'),
      name,
      email: email === undefined ? null : normalEmail(email),
      email_by_other: null,
      role,
      password: password ?? null,
      created_at_ms: Date.now(),
      last_seen_at_ms: null,
      disabled_at_ms: null,
      limits: null
    }
    const added = await this.#use(
      async () =>
        await this.#query
          .insertInto('users')
          .values(row)
          .onConflict(conflict => conflict.doNothing())
          .executeTakeFirstOrThrow()
    )
    if (added.numInsertedOrUpdatedRows === 0n) throw emailTaken()
    for (const project of new Set(projects)) await this.join(row.id, project)
    return row
  }

  /**
   * @param ifRole the role with which the right to change the user was checked
   * @returns the changed row; `undefined` for an unknown user
   * @throws GatewayError `conflict` when the email is taken, when the last owner would lose that role, and
   *   when the user has another role
   */
  async update (
    id: string,
    { name, email, emailByOther = false, role, disabled, limits, password }: UserChanges,
    ifRole?: Role
  ): Promise<UserRow | undefined> {
    if (email !== undefined && ((await this.findByEmail(email)) ?? { id }).id !== id) throw emailTaken()
    const values = {
      id,
      ...name !== undefined && { name },
      ...email !== undefined && { email: normalEmail(email), email_by_other: emailByOther ? 1 : null },
      ...role !== undefined && { role },
      ...password !== undefined && { password },
      ...disabled !== undefined && { disabled_at_ms: disabled ? Date.now() : null },
      ...limits !== undefined && { limits: limits === null ? null : JSON.stringify(toPartyLimits(limits)) }
    }
    let change = this.#withOwners().updateTable('users').set(values).where('id', '=', id)
    if ((role !== undefined && role !== 'owner') || disabled === true) {
      change = change.where(leavesAnOwner(id))
    }
    if (ifRole !== undefined) change = change.where('role', '=', ifRole)
    const changed =
      (await this.#use(async () => await change.returningAll().executeTakeFirst())) ??
      (await this.#whyUnchanged(id, ifRole))
    if (limits !== undefined) await this.#touchKeys(id)
    return changed
  }

  /** Makes every process read the keys again, with the current limits of their owner. */
  async #touchKeys (id: string): Promise<void> {
    await this.#use(
      async () =>
        await this.#query
          .updateTable('keys')
          .set({ changes: sql`changes + 1` })
          .where('owner_id', '=', id)
          .execute()
    )
  }

  /**
   * @param ifRole as for `update`
   * @returns false for an unknown user
   * @throws GatewayError `conflict` for the last owner, and when the user has another role
   */
  async remove (id: string, ifRole?: Role): Promise<boolean> {
    let removal = this.#withOwners().deleteFrom('users').where('id', '=', id).where(leavesAnOwner(id))
    if (ifRole !== undefined) removal = removal.where('role', '=', ifRole)
    const { numDeletedRows } = await this.#use(async () => await removal.executeTakeFirstOrThrow())
    if (numDeletedRows === 0n) await this.#whyUnchanged(id, ifRole)
    else await this.#touchKeys(id)
    return numDeletedRows > 0n
  }

  /** Records that the user is active, if the last record is old enough. */
  async seen ({ id, last_seen_at_ms: last }: Pick<UserRow, 'id' | 'last_seen_at_ms'>): Promise<void> {
    const now = Date.now()
    if (last !== null && now - last < seenEveryMs) return
    await this.#use(
      async () =>
        await this.#query.updateTable('users').set({ last_seen_at_ms: now }).where('id', '=', id).execute()
    )
  }

  /** Lists users in order of creation. */
  async list (page: PageRequest): Promise<PageOf<User>> {
    const rows = this.#query
      .selectFrom('users')
      .selectAll()
      .where(beyond(page, 'created_at_ms', 'id', 'asc'))
    const found = await this.#use(
      async () =>
        await rows
          .orderBy('created_at_ms')
          .orderBy('id')
          .limit(page.limit + 1)
          .execute()
    )
    const ids = found.map(({ id }) => id)
    const [projects, passkeys] = [await this.projectsOf(ids), await this.#passkeysOf(ids)]
    const spent = new Map(
      await Promise.all(found.map(async row => [row.id, await this.#spentBy(row)] as const))
    )
    return pageOf(
      found,
      page,
      ({ created_at_ms: ms, id }) => ({ ms, id }),
      row => describeUser(row, spent.get(row.id), projects.get(row.id), passkeys.get(row.id))
    )
  }

  async describe (row: UserRow): Promise<User> {
    const [projects, passkeys] = [await this.projectsOf([row.id]), await this.#passkeysOf([row.id])]
    return describeUser(row, await this.#spentBy(row), projects.get(row.id), passkeys.get(row.id))
  }

  /** Returns the spending of the keys of a user with limits. */
  async #spentBy ({ id, limits }: UserRow): Promise<Spent | undefined> {
    if (limits === null) return undefined
    const party = counterName({ kind: 'member', id })
    return await this.#use(async () => await spentOf(this.#query, party, parseLimits(limits)))
  }

  /** Returns the projects of each given user who is a member of any. */
  async projectsOf (ids: readonly string[]): Promise<Map<string, string[]>> {
    const rows =
      ids.length === 0
        ? []
        : await this.#use(
            async () =>
              await this.#query
                .selectFrom('members')
                .select(['user_id', 'project_id'])
                .where('user_id', 'in', ids)
                .execute()
          )
    const projects = new Map<string, string[]>()
    for (const { user_id: user, project_id: project } of rows) {
      projects.set(user, [...(projects.get(user) ?? []), project])
    }
    return projects
  }

  /** Makes a user a member of a project. */
  async join (id: string, projectId: string): Promise<void> {
    await this.#use(
      async () =>
        await this.#query
          .insertInto('members')
          .values({ project_id: projectId, user_id: id, added_at_ms: Date.now() })
          .onConflict(conflict => conflict.doNothing())
          .execute()
    )
  }

  /** @returns false if the user is not a member */
  async leave (id: string, projectId: string): Promise<boolean> {
    const left = await this.#use(
      async () =>
        await this.#query
          .deleteFrom('members')
          .where('project_id', '=', projectId)
          .where('user_id', '=', id)
          .executeTakeFirstOrThrow()
    )
    return left.numDeletedRows > 0n
  }

  /** Counts the passkeys of each given user who has any. */
  async #passkeysOf (ids: readonly string[]): Promise<Map<string, number>> {
    const rows =
      ids.length === 0
        ? []
        : await this.#use(
            async () =>
              await this.#query
                .selectFrom('passkeys')
                .select(['user_id', ({ fn }) => fn.countAll<number>().as('count')])
                .where('user_id', 'in', ids)
                .groupBy('user_id')
                .execute()
          )
    return new Map(rows.map(({ user_id: user, count }) => [user, count]))
  }

  /** Returns whether a user is the only enabled owner. */
  async isLastOwner (id: string): Promise<boolean> {
    const user = await this.find(id)
    if (user?.role !== 'owner') return false
    const other = await this.#use(
      async () =>
        await this.#query
          .selectFrom('users')
          .select('id')
          .where('role', '=', 'owner')
          .where('id', '!=', id)
          .where('disabled_at_ms', 'is', null)
          .limit(1)
          .executeTakeFirst()
    )
    return other === undefined
  }

  /**
   * Begins a statement that knows the owners. It locks them in a fixed order: of two statements that each
   * remove an owner at the same moment, the second sees the effect of the first.
   */
  #withOwners () {
    return this.#query.with('owners', query =>
      query
        .selectFrom('users')
        .select('id')
        .where('role', '=', 'owner')
        .where('disabled_at_ms', 'is', null)
        .orderBy('id')
        .$call(this.#lockRows)
    )
  }

  /** @throws GatewayError `conflict` unless there is no such user */
  async #whyUnchanged (id: string, ifRole: Role | undefined): Promise<undefined> {
    const user = await this.find(id)
    if (user === undefined) return undefined
    if (ifRole !== undefined && user.role !== ifRole) {
      throw new GatewayError('conflict', {
        message: 'The role of the user has just changed. Try again.'
      })
    }
    throw new GatewayError('conflict', { message: 'This is the only owner. Make another user an owner first.' })
  }
}

/** Returns the condition that a user is not an owner, or not the only one. */
function leavesAnOwner (id: string) {
  return (user: ExpressionBuilder<Tables & { owners: { id: string } }, 'users'>) =>
    user.or([
      user('role', '!=', 'owner'),
      user.exists(user.selectFrom('owners').select('owners.id').where('owners.id', '!=', id))
    ])
}

/** Returns the fields of a user that the audit log shows. */
export function publicPart ({ name, email, role }: UserRow): object {
  return { name, email, role }
}

function emailTaken (): GatewayError {
  return new GatewayError('conflict', { param: 'email', message: 'Another user has this email.' })
}

/** Returns an email in the form that is stored and compared. */
export function normalEmail (email: string): string {
  return email.trim().toLowerCase()
}

function describeUser (
  row: UserRow,
  spent: Spent | undefined,
  projects: string[] = [],
  passkeys = 0
): User {
  const {
    id,
    name,
    email,
    role,
    password,
    created_at_ms,
    last_seen_at_ms,
    disabled_at_ms: disabledAtMs,
    limits
  } = row
  return {
    id,
    name,
    email,
    role,
    disabled: disabledAtMs !== null,
    has_password: password !== null,
    passkeys,
    projects,
    limits: limits === null ? null : fromPartyLimits(parseLimits(limits)),
    spent_usd: spent?.usd ?? null,
    exhausted: spent?.isExhausted === true,
    created_at_ms,
    last_seen_at_ms
  }
}
