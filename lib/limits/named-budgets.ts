/**
 * Finds the budgets of the names in a call: tags of its key, project and route, its end user, and its models.
 * Loaded only if a configuration has such budgets or requires end users.
 */

import { GatewayError } from '../core/errors.ts'
import { projectIdOf, type ApiKey, type PartyLimits } from '../core/key.ts'
import { idsOf } from '../core/route.ts'
import type { RoutedCall } from '../core/call.ts'
import type { CallerFacts } from '../core/record.ts'
import type { Settings } from '../core/settings.ts'
import type { Database } from '../stores/database.ts'
import { endUserDigest, type EndUserDigest } from '../stores/end-user-digests.ts'
import { endUsersOfMonth } from '../stores/party-spending.ts'
import { ownTags, routeTags } from '../usage/usage-settings.ts'
import {
  budgetsOfParties, type Account, type Party, type PartyBudget, type PartyKind
} from './call-accounts.ts'
import { EndUserNames, maxEndUsers, otherEndUsers, type ReadEndUsers } from './end-user-names.ts'

/** The parts of a call that hold these names. */
export interface NamingCall extends Partial<Pick<RoutedCall<unknown>, 'requestedNames' | 'routes'>> {
  readonly key: ApiKey
  readonly record: { readonly caller: Pick<CallerFacts, 'endUser'> }
}

type NamedSettings = Pick<Settings, 'endUsers' | 'routes'> & {
  readonly limits: Pick<Settings['limits'], 'tags' | 'models'>
  readonly usage: Pick<Settings['usage'], 'keys' | 'projects' | 'routes'>
}

export interface NamedBudgetsDeps {
  /** The store's secret; names of end users are counted as digests made with it. */
  readonly secret: Buffer
  /** Lists the end users of a project with spending in a month. Default: no store. */
  readonly readEndUsers?: ReadEndUsers | undefined
}

/** Creates `NamedBudgets` with the end users of a store. @param secret the store's secret */
export function openNamedBudgets (
  settings: NamedSettings,
  secret: Buffer,
  usageDatabase: Pick<Database, 'query'> | undefined
): NamedBudgets {
  return new NamedBudgets(settings, {
    secret,
    readEndUsers: usageDatabase && (async (project, monthFromMs) => (
      await endUsersOfMonth(usageDatabase.query, project, monthFromMs, maxEndUsers)
    ))
  })
}

/** The parties that calls name, as far as they have budgets. */
export class NamedBudgets {
  readonly #ofTags: ReadonlyMap<string, PartyLimits>
  readonly #ofModels: ReadonlyMap<string, PartyLimits>
  readonly #ofEndUser: PartyLimits | undefined
  readonly #requiresEndUser: boolean
  readonly #routes: ReadonlySet<string>
  readonly #tagsOf: (call: NamingCall) => readonly string[]
  readonly #digest: EndUserDigest
  readonly #names: EndUserNames

  constructor (
    { limits, endUsers, routes, usage }: NamedSettings,
    { secret, readEndUsers }: NamedBudgetsDeps
  ) {
    this.#ofTags = new Map(limits.tags.map(({ tag, ...budgets }) => [tag, budgets]))
    this.#ofModels = new Map(limits.models.map(({ model, ...budgets }) => [model, budgets]))
    this.#ofEndUser = endUserLimits(endUsers)
    this.#requiresEndUser = endUsers.required
    this.#routes = new Set(routes.map(({ name }) => name))
    const [ofKey, ofRoutes] = [ownTags(usage), routeTags(usage)]
    this.#tagsOf = ({ key, requestedNames = [] }) => [
      ...ofKey?.(key) ?? [],
      ...ofRoutes?.(requestedNames) ?? []
    ]
    // Callers choose these names, so counters keep digests. Records have the same digests, or the names.
    this.#digest = endUsers.store === 'hashed' ? (_project, digest) => digest : endUserDigest(secret)
    this.#names = new EndUserNames(readEndUsers)
  }

  /**
   * Lists the parties whose budgets apply to a call, without counting it. May wait to read the end users of
   * its project.
   *
   * @param options.mayBeAnonymous true for a call that costs nothing itself. Default: false
   * @throws GatewayError `invalid_value` for a call without the end user that the configuration requires
   */
  partiesOf (
    call: NamingCall,
    nowMs: number,
    { mayBeAnonymous = false } = {}
  ): readonly Party[] | Promise<readonly Party[]> {
    const parties = this.#tagsAndModels(call)
    const { record: { caller: { endUser } }, key } = call
    if (endUser === undefined) {
      if (this.#requiresEndUser && !mayBeAnonymous) throw missingEndUser()
      return parties
    }
    if (this.#ofEndUser === undefined) return parties
    const project = projectIdOf(key)
    const found = this.#names.find(project, this.#digest(project, endUser), nowMs)
    return found instanceof Promise
      ? found.then(name => this.#withEndUser(parties, project, name))
      : this.#withEndUser(parties, project, found)
  }

  #tagsAndModels (call: NamingCall): Party[] {
    return [...this.#among('tag', this.#tagsOf(call)), ...this.#among('model', this.#modelsOf(call))]
  }

  /** Registers the end user of an admitted call. */
  noteAdmitted (accounts: ReadonlyArray<Pick<Account, 'party'>>, nowMs: number): void {
    for (const { party: { kind, id } } of accounts) {
      if (kind !== 'end_user') continue
      const nameAt = id.lastIndexOf('/') + 1
      this.#names.take(id.slice(0, nameAt - 1), id.slice(nameAt), nowMs)
    }
  }

  /** Lists the budgets of the names in a call, without counting or waiting. */
  budgetsOf (call: NamingCall): readonly PartyBudget[] {
    const parties = this.#tagsAndModels(call)
    const { record: { caller: { endUser } }, key } = call
    return budgetsOfParties(
      endUser === undefined ? parties : this.#withEndUser(parties, projectIdOf(key), otherEndUsers)
    )
  }

  /** Lists the parties named by a usage row whose budgets still exist. */
  partiesOfRow (names: string | null): readonly Party[] {
    if (names === null) return []
    return (JSON.parse(names) as readonly string[]).flatMap(name => { // this gateway wrote the row
      const [kind = '', ...id] = name.split(':')
      const limits = this.#limitsOf(kind, id.join(':'))
      return limits === undefined ? [] : [{ kind: kind as PartyKind, id: id.join(':'), limits }]
    })
  }

  #limitsOf (kind: string, id: string): PartyLimits | undefined {
    switch (kind) {
      case 'tag': return this.#ofTags.get(id)
      case 'model': return this.#ofModels.get(id)
      case 'end_user': return this.#ofEndUser
      default: return undefined
    }
  }

  #among (kind: 'tag' | 'model', ids: readonly string[]): Party[] {
    return [...new Set(ids)].flatMap(id => {
      const limits = this.#limitsOf(kind, id)
      return limits === undefined ? [] : [{ kind, id, limits }]
    })
  }

  /** Lists the requested names, and the models that may answer unless all names are routes. */
  #modelsOf ({ requestedNames = [], routes }: NamingCall): readonly string[] {
    if (this.#ofModels.size === 0) return []
    return requestedNames.every(name => this.#routes.has(name))
      ? requestedNames
      : [...requestedNames, ...routes?.flatMap(idsOf) ?? []]
  }

  #withEndUser (parties: readonly Party[], project: string, name: string): readonly Party[] {
    if (this.#ofEndUser === undefined) return parties
    return [...parties, { kind: 'end_user', id: `${project}/${name}`, limits: this.#ofEndUser }]
  }
}

function endUserLimits (
  { defaultBudget: budget, budgets, strict }: Settings['endUsers']
): PartyLimits | undefined {
  if (budget === undefined && budgets === undefined) return undefined
  return {
    ...budget !== undefined && { budget },
    ...budgets !== undefined && { budgets },
    ...strict !== undefined && { strict }
  }
}

function missingEndUser (): GatewayError {
  return new GatewayError('invalid_value', {
    param: 'user',
    message:
      'This gateway needs the end user of each call: send `user`, `safety_identifier` or the header `x-litellm-end-user-id`.'
  })
}
