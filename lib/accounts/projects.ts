/** Projects: groups of keys, with the people who may create them. */

import { sql, type Kysely } from 'kysely'
import type { Member, Project, ProjectChange } from '../../schemas/admin/organisation.ts'
import { GatewayError } from '../core/errors.ts'
import { spentOf, type Spent } from '../keys/spent-of.ts'
import { fromPartyLimits, toPartyLimits } from '../keys/party-limits.ts'
import { defaultProject, type PartyLimits } from '../core/key.ts'
import type { ProjectRow, Tables } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'
import { beyond, pageOf, type PageOf, type PageRequest } from '../stores/pages.ts'
import { newId } from './random-tokens.ts'
import { jsonColumn } from '../stores/json-column.ts'

export interface ProjectChanges {
  readonly name?: string | undefined
  readonly models?: readonly string[] | null | undefined
  readonly stages?: readonly string[] | null | undefined
  readonly limits?: ProjectChange['limits'] | undefined
}

export class Projects {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (query: Kysely<Tables>, use: UseStore) {
    this.#query = query
    this.#use = use
  }

  /** @throws GatewayError `conflict` when the name is taken */
  async create ({
    name,
    models,
    stages,
    limits
  }: ProjectChanges & { readonly name: string }): Promise<Project> {
    const id = newId('project')
    const added = await this.#use(
      async () =>
        await this.#query
          .insertInto('projects')
          .values({
            id,
            name,
            models: jsonColumn(models),
            stages: jsonColumn(stages),
            limits: jsonColumn(limits && toPartyLimits(limits)),
            created_at_ms: Date.now(),
            archived_at_ms: null
          })
          .onConflict(conflict => conflict.doNothing())
          .executeTakeFirstOrThrow()
    )
    if (added.numInsertedOrUpdatedRows === 0n) throw nameTaken()
    return await this.require(id)
  }

  /** @throws GatewayError `conflict` when the name is taken, `not_found` */
  async update (id: string, { name, models, stages, limits }: ProjectChanges): Promise<Project> {
    if (name !== undefined && await this.#hasName(name, id)) throw nameTaken()
    const values = {
      id,
      ...name !== undefined && { name },
      ...models !== undefined && { models: jsonColumn(models) },
      ...stages !== undefined && { stages: jsonColumn(stages) },
      ...limits !== undefined && { limits: jsonColumn(limits && toPartyLimits(limits)) }
    }
    await this.#use(
      async () => await this.#query.updateTable('projects').set(values).where('id', '=', id).execute()
    )
    await this.#touchKeys(id)
    return await this.require(id)
  }

  /**
   * Archives a project, and revokes its keys.
   *
   * @throws GatewayError `conflict` for the default one
   */
  async archive (id: string): Promise<void> {
    if (id === defaultProject) {
      throw new GatewayError('conflict', { message: 'The default project cannot be archived.' })
    }
    const now = Date.now()
    await this.#use(
      async () =>
        await this.#query
          .updateTable('projects')
          .set({ archived_at_ms: now })
          .where('id', '=', id)
          .where('archived_at_ms', 'is', null)
          .execute()
    )
    await this.#use(
      async () =>
        await this.#query
          .updateTable('keys')
          .set({ revoked_at_ms: now })
          .where('project_id', '=', id)
          .where('revoked_at_ms', 'is', null)
          .execute()
    )
  }

  /** Lists the active projects in order of creation. */
  async list (page: PageRequest, only: ReadonlySet<string> | undefined): Promise<PageOf<Project>> {
    let rows = this.#rows().where('projects.archived_at_ms', 'is', null)
    if (only !== undefined) rows = rows.where('projects.id', 'in', [...only, ''])
    rows = rows.where(beyond(page, 'projects.created_at_ms', 'projects.id', 'asc'))
    const found = await this.#use(
      async () =>
        await rows
          .orderBy('projects.created_at_ms')
          .orderBy('projects.id')
          .limit(page.limit + 1)
          .execute()
    )
    const projects = await Promise.all(found.map(async row => await this.#describe(row)))
    return pageOf(projects, page, ({ created_at_ms: ms, id }) => ({ ms: ms ?? 0, id }), project => project)
  }

  /** Returns the names of all active projects, in order of creation. */
  async names (only: ReadonlySet<string> | undefined): Promise<Array<Pick<ProjectRow, 'id' | 'name'>>> {
    let rows = this.#query.selectFrom('projects').select(['id', 'name']).where('archived_at_ms', 'is', null)
    if (only !== undefined) rows = rows.where('id', 'in', [...only, ''])
    return await this.#use(async () => await rows.orderBy('created_at_ms').orderBy('id').execute())
  }

  async find (id: string): Promise<Project | undefined> {
    const row = await this.#use(
      async () => await this.#rows().where('projects.id', '=', id).executeTakeFirst()
    )
    return row && (await this.#describe(row))
  }

  /** @throws GatewayError `not_found` */
  async require (id: string): Promise<Project> {
    const found = await this.find(id)
    if (found === undefined) {
      throw new GatewayError('not_found', { param: 'project_id', message: 'There is no such project.' })
    }
    return found
  }

  /** Lists the members of a project in order of joining. */
  async members (id: string, page: PageRequest): Promise<PageOf<Member>> {
    const rows = this.#members(id).where(beyond(page, 'members.added_at_ms', 'users.id', 'asc'))
    const found = await this.#use(
      async () =>
        await rows
          .orderBy('members.added_at_ms')
          .orderBy('users.id')
          .limit(page.limit + 1)
          .execute()
    )
    return pageOf(
      found,
      page,
      ({ added_at_ms: ms, user_id: id }) => ({ ms, id }),
      member => member
    )
  }

  /** @throws GatewayError `not_found` */
  async requireMember (id: string, userId: string): Promise<Member> {
    const found = await this.#use(
      async () => await this.#members(id).where('users.id', '=', userId).executeTakeFirst()
    )
    if (found === undefined) {
      throw new GatewayError('not_found', { param: 'user_id', message: 'There is no such member.' })
    }
    return found
  }

  #members (id: string) {
    return this.#query
      .selectFrom('members')
      .innerJoin('users', 'users.id', 'members.user_id')
      .select(['users.id as user_id', 'users.name', 'users.email', 'users.role', 'members.added_at_ms'])
      .where('members.project_id', '=', id)
  }

  async #describe (row: CountedProject): Promise<Project> {
    const limits = row.limits === null ? undefined : (JSON.parse(row.limits) as PartyLimits) // written above
    return describeProject(
      row,
      limits,
      await this.#use(async () => await spentOf(this.#query, row.id, limits))
    )
  }

  #rows () {
    const now = Date.now()
    return this.#query
      .selectFrom('projects')
      .selectAll('projects')
      .select(query => [
        query
          .selectFrom('keys')
          .whereRef('keys.project_id', '=', 'projects.id')
          .where('keys.revoked_at_ms', 'is', null)
          .where(key => key.or([key('keys.expires_at_ms', 'is', null), key('keys.expires_at_ms', '>', now)]))
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .as('keys'),
        query
          .selectFrom('members')
          .whereRef('members.project_id', '=', 'projects.id')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .as('members')
      ])
  }

  async #hasName (name: string, except: string): Promise<boolean> {
    return (
      (await this.#use(
        async () =>
          await this.#query
            .selectFrom('projects')
            .select('id')
            .where('name', '=', name)
            .where('id', '!=', except)
            .where('archived_at_ms', 'is', null)
            .executeTakeFirst()
      )) !== undefined
    )
  }

  /** Makes every process read the keys again, with the current rights of their project. */
  async #touchKeys (id: string): Promise<void> {
    await this.#use(
      async () =>
        await this.#query
          .updateTable('keys')
          .set({ changes: sql`changes + 1` })
          .where('project_id', '=', id)
          .execute()
    )
  }
}

function nameTaken (): GatewayError {
  return new GatewayError('conflict', { param: 'name', message: 'Another project has this name.' })
}

interface CountedProject extends ProjectRow { readonly keys: number | null, readonly members: number | null }

function describeProject (
  { id, name, models, stages, keys, members, created_at_ms, archived_at_ms }: CountedProject,
  limits: PartyLimits | undefined,
  spent: Spent
): Project {
  return {
    id,
    name,
    models: models === null ? null : JSON.parse(models) as string[], // written above
    stages: stages === null ? null : JSON.parse(stages) as string[],
    limits: limits === undefined ? null : fromPartyLimits(limits),
    keys: keys ?? 0,
    members: members ?? 0,
    spent_usd: spent.usd,
    exhausted: spent.isExhausted,
    created_at_ms: created_at_ms === 0 ? null : created_at_ms, // the first one is as old as the store
    archived_at_ms
  }
}
