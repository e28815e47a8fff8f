/** A client of the admin API, for routes of its table. */

import { isObject, property, type JsonObject } from '../json/type-guards.ts'
import { readAnswer } from '../net/read-answer.ts'
import { printable } from '../text/printable.ts'
import { compileCheck } from '../validation/compile-check.ts'
import { adminRoutes, type AdminRoute } from '../../schemas/admin/routes.ts'

/** The parts of a path: `{ project_id: 'project-1' }`. */
type Params = Readonly<Record<string, string>>

const timeoutMs = 30_000
const pageSize = 200
/** Maximum pages: more entries than a store has. A server that repeats its cursor ends there. */
const maxPages = 1_000

/** Maximum length of a gateway's sentence that is repeated. */
const maxMessageLength = 500

/**
 * Reports a request that the gateway refused or did not answer, or an answer outside the admin API. Its
 * message is one line, and never contains the key.
 */
export class AdminApiError extends Error {}

export class AdminClient {
  readonly #base: string
  readonly #key: string

  /** @param base the address of the gateway, without `/admin/v1` */
  constructor (base: string, key: string) {
    this.#base = base
    this.#key = key
  }

  /**
   * @returns the answer as the table of routes describes it
   * @throws AdminApiError
   */
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
    const isPage = compileCheck(adminRoutes[route].answer)
    const entries: Entry[] = []
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page++) {
      const after = cursor === undefined ? {} : { cursor }
      const search = new URLSearchParams({ limit: String(pageSize), ...query, ...after })
      const answer = await this.#fetch(route, params, `?${search.toString()}`)
      const { data, next_cursor: next } = answer
      if (!Array.isArray(data) || data.length > pageSize || !isPage(answer)) {
        throw new AdminApiError(`${route}: its answer is not a page of the list that this version reads.`)
      }
      entries.push(...data as Entry[]) // as its caller read in the table
      if (typeof next !== 'string') return entries
      cursor = next
    }
    throw new AdminApiError(`${route} has more than ${maxPages} pages.`)
  }

  async #fetch (route: AdminRoute, params: Params, search: string, body?: object): Promise<JsonObject> {
    const [method = '', template = ''] = route.split(' ')
    const path = template.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
    const { status, ok, text } = await fetch(`${this.#base}${path}${search}`, {
      method,
      // A redirect would send the key elsewhere.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...body !== undefined && { 'content-type': 'application/json' }
      },
      ...body !== undefined && { body: JSON.stringify(body) }
    }).then(readAnswer).catch((error: unknown) => {
      throw new AdminApiError(`${method} ${path}: ${reasonOf(error)}`, { cause: error })
    })
    const answer = jsonOf(text)
    if (ok && isObject(answer)) return answer
    throw new AdminApiError(`${method} ${path}: ${refusal(status, answer)}`)
  }
}

/** Returns `undefined` for anything but JSON, such as a proxy's page: the status is enough then. */
function jsonOf (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reasonOf (error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error))
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

function refusal (status: number, answer: unknown): string {
  const message = property(property(answer, 'error'), 'message')
  if (typeof message === 'string') return `${status}: ${printable(message.slice(0, maxMessageLength))}`
  return `${status}, which is not an answer of the admin API. Is this the address of a gateway with a dashboard?`
}
