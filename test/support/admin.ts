/** A gateway with an admin API, and people who use it. Every answer is compared with the served document. */

import { Admin } from '../../lib/accounts/admin.ts'
import { openKeyStore, type KeyStore } from '../../lib/keys/key-store.ts'
import type { Database } from '../../lib/stores/database.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { adminRoutes } from '../../schemas/admin/routes.ts'
import { conformance, type Conformance } from './conformance.ts'
import { testGateway, type TestGateway } from './gateway.ts'
import { testPlace } from './stores.ts'
import type { Role } from '../../schemas/admin/common.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { GatewayOptions } from '../../lib/gateway.ts'
import type { Tables, UserRow } from '../../lib/stores/tables.ts'
import { TableNode, type KyselyPlugin, type QueryId } from 'kysely'
import type { StoreLocation } from '../../lib/stores/database.ts'
import type { Test } from 'tap'

const operations = Object.keys(adminRoutes).map(route => {
  const [method = '', path = ''] = route.split(' ')
  return {
    method,
    path: path.replace(/:(\w+)/g, '{$1}'),
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`)
  }
})

/**
 * Compiled document checks, by gateway settings and document text: printing a document takes longer than most
 * calls, and compiling its schemas even longer.
 */
const documents = new Map<string, Conformance>()

async function conformanceOf (url: string, parts: Partial<Settings>): Promise<Conformance> {
  const settings = JSON.stringify(parts)
  const known = documents.get(settings)
  if (known !== undefined) return known
  const text = await (await fetch(`${url}/openapi.json`)).text()
  const checks = documents.get(text) ?? conformance(JSON.parse(text))
  documents.set(settings, checks).set(text, checks)
  return checks
}

/** Sends a request, and reads the answer as JSON. */
export type Send = (
  route: string,
  body?: unknown,
  headers?: Record<string, string>
) => Promise<{
  readonly status: number
  // Tests read whatever fields they expect.
  readonly body: any // eslint-disable-line
  readonly response: Response
}>

export interface AdminGateway {
  readonly api: TestGateway
  readonly admin: Admin
  readonly keys: KeyStore
  readonly database: Database
  /**
   * Runs a change once, after the gateway has read from a table and before it continues: as another process
   * would at the same moment.
   */
  readonly afterRead: (table: keyof Tables, act: () => Promise<unknown>) => void
  /** Creates a user with a session. */
  readonly user: (role: Role, projects?: readonly string[]) => Promise<Person>
  /** Sends without a session. */
  readonly send: Send
}

export interface Person {
  readonly user: UserRow
  readonly cookie: string
  readonly csrf: string
  /** The headers of the session: its cookie and its token. */
  readonly headers: Readonly<Record<string, string>>
  readonly send: Send
}

/** Returns the headers of the session that a sign-in answer starts. */
export function sessionOf ({ body, response }: Awaited<ReturnType<Send>>): Record<string, string> {
  return {
    cookie: response.headers.get('set-cookie')?.split(';', 1)[0] ?? '',
    'x-headgate-csrf': String(body.csrf_token)
  }
}

/**
 * Starts the gateway.
 * @param given the location of its store. Default: PostgreSQL if the tests have one
 */
export async function adminGateway (
  t: Test,
  parts: Partial<Settings> = {},
  more: Partial<GatewayOptions> = {},
  given?: StoreLocation
): Promise<AdminGateway> {
  const place = given ?? (await testPlace(t))
  const database = await openDatabase(place)
  const usageDatabase = await openDatabase(place, { busyTimeoutMs: 0, maxConnections: 2 })
  const keys = await openKeyStore(database, parts.keys ?? [], { pollMs: 60_000 })
  const reads = new PausedReads()
  const api = await testGateway(
    t,
    parts,
    {},
    {
      database: { ...database, query: database.query.withPlugin(reads) },
      usageDatabase,
      keys,
      keyStore: keys,
      ...more
    }
  )
  t.teardown(async () => {
    keys.close()
    await usageDatabase.close()
    await database.close()
  })
  // another connection: during `afterRead` that of the gateway is busy
  const admin = new Admin(usageDatabase, keys)
  const document = await conformanceOf(api.url, parts)
  const compare = async (method: string, url: string, response: Response): Promise<void> => {
    const matching = operations.filter(
      ({ method: own, pattern }) => own === method && pattern.test(url.split('?', 1)[0] ?? '')
    )
    const path = (matching.find(({ path }) => !path.includes('{')) ?? matching[0])?.path ?? url
    // of the table of routes
    const findings = await document.findings({
      path,
      method: method.toLowerCase() as 'get' | 'post' | 'delete',
      response
    })
    if (findings.length > 0) t.same(findings, [], `${method} ${url}`)
  }
  const sender =
    (credentials: Record<string, string>): Send =>
    async (route, body, headers = {}) => {
      const [method = '', path = ''] = route.split(' ')
      const response = await fetch(api.url + path, {
        method,
        redirect: 'manual',
        headers: {
          ...credentials,
          ...body !== undefined && { 'content-type': 'application/json' },
          ...headers
        },
        ...body !== undefined && { body: JSON.stringify(body) }
      })
      const text = await response.clone().text()
      await compare(method, path, response.clone())
      return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text, response }
    }
  let made = 0
  return {
    api,
    admin,
    keys,
    database,
    afterRead: reads.pause,
    send: sender({}),
    user: async (role, projects = []) => {
      const { users, sessions } = admin.accounts
      const user = await users.create({
        name: `${role} ${++made}`,
        email: `${role}-${made}@example.com`,
        role,
        projects
      })
      const { token, csrfToken: csrf } = await sessions.create(
        user.id,
        { address: null, userAgent: null },
        false
      )
      const cookie = `headgate_session=${token}`
      const headers = { cookie, 'x-headgate-csrf': csrf }
      return { user, cookie, csrf, headers, send: sender(headers) }
    }
  }
}

class PausedReads implements KyselyPlugin {
  readonly #paused = new WeakSet<QueryId>()
  #next: { readonly table: string, readonly act: () => Promise<unknown> } | undefined

  readonly pause = (table: string, act: () => Promise<unknown>): void => {
    this.#next = { table, act }
  }

  readonly transformQuery: KyselyPlugin['transformQuery'] = ({ node, queryId }) => {
    const [from] = node.kind === 'SelectQueryNode' ? (node.from?.froms ?? []) : []
    if (from !== undefined && TableNode.is(from) && from.table.identifier.name === this.#next?.table) {
      this.#paused.add(queryId)
    }
    return node
  }

  readonly transformResult: KyselyPlugin['transformResult'] = async ({ result, queryId }) => {
    const next = this.#paused.has(queryId) ? this.#next : undefined
    if (next === undefined) return result
    this.#next = undefined
    await next.act()
    return result
  }
}
