/** A client of the admin API, for routes of its table. */

import { isObject, property } from '../json/guards.ts'
import type { AdminRoute } from '../../schemas/admin/routes.ts'

/** The parts of a path: `{ project_id: 'project-1' }`. */
type Params = Readonly<Record<string, string>>

const timeoutMs = 30_000
const pageSize = 200
/** More entries than one store has; a server that repeats its cursor ends there. */
const maxPages = 1_000

/** Reports a request that the gateway refused or did not answer. Its message never holds the key. */
export class AdminApiError extends Error {}

export class AdminClient {
  readonly #base: string
  readonly #key: string

  /** @param base the address of the gateway, without `/admin/v1` */
  constructor (base: string, key: string) {
    this.#base = base
    this.#key = key
  }

  /** @returns what the table says of the route. @throws AdminApiError */
  async send<Answer> (route: AdminRoute, params: Params = {}, body?: object): Promise<Answer> {
    return await this.#fetch(route, params, '', body) as Answer // as its caller read in the table
  }

  /** Reads an answer that depends on a query. @throws AdminApiError */
  async read<Answer> (route: AdminRoute & `GET ${string}`, query: URLSearchParams): Promise<Answer> {
    return await this.#fetch(route, {}, `?${query.toString()}`) as Answer // as its caller read in the table
  }

  /** Reads all pages of a list. @throws AdminApiError */
  async list<Entry> (
    route: AdminRoute & `GET ${string}`, params: Params = {}, query: Params = {}
  ): Promise<Entry[]> {
    const entries: Entry[] = []
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page++) {
      const after = cursor === undefined ? {} : { cursor }
      const search = new URLSearchParams({ limit: String(pageSize), ...query, ...after })
      const answer = await this.#fetch(route, params, `?${search.toString()}`)
      entries.push(...property(answer, 'data') as Entry[]) // every list has it
      const next = property(answer, 'next_cursor')
      if (typeof next !== 'string') return entries
      cursor = next
    }
    throw new AdminApiError(`${route} has more than ${maxPages} pages.`)
  }

  async #fetch (route: AdminRoute, params: Params, search: string, body?: object): Promise<unknown> {
    const [method = '', template = ''] = route.split(' ')
    const path = template.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
    const response = await fetch(`${this.#base}${path}${search}`, {
      method,
      // A redirect would send the key elsewhere.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...body !== undefined && { 'content-type': 'application/json' }
      },
      ...body !== undefined && { body: JSON.stringify(body) }
    }).catch((error: unknown) => {
      throw new AdminApiError(`${method} ${path}: ${reasonOf(error)}`, { cause: error })
    })
    // Of a proxy in front, say, it is no JSON: the status says enough.
    const answer: unknown = await response.json().catch(() => undefined)
    if (response.ok && isObject(answer)) return answer
    throw new AdminApiError(`${method} ${path}: ${refusal(response.status, answer)}`)
  }
}

function reasonOf (error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error))
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

function refusal (status: number, answer: unknown): string {
  const message = property(property(answer, 'error'), 'message')
  if (typeof message === 'string') return `${status}: ${message}`
  return `${status}, which is not an answer of the admin API. Is this the address of a gateway with a dashboard?`
}
