/**
 * Calls the admin API. Routes, parameters, bodies and answers are typed by the table the server builds its
 * endpoints of:
 *
 *     const page = await api('GET /admin/v1/keys', { query: { status: 'active' } })
 *
 * @throws ApiError for every answer that is not a success, and when there is none.
 */

import type { Static, TSchema } from 'typebox'
import type { AdminRoute, AdminRoutes } from '../../../../schemas/admin/routes.ts'

/** The answer of each route. Looked up by route, so that the compiler reads the types of that one only. */
type Answers = { readonly [R in AdminRoute]: Static<AdminRoutes[R]['answer']> }
export type Answer<R extends AdminRoute> = Answers[R]
export type RequestBody<R extends AdminRoute> = AdminRoutes[R] extends { request: infer S extends TSchema }
  ? Static<S>
  : never

type Query<R extends AdminRoute> = AdminRoutes[R] extends { query: infer Q }
  ? { readonly [K in keyof Q]?: string | number | boolean | undefined }
  : never
type ParameterNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never
type Parameters<R extends AdminRoute> = Readonly<Record<ParameterNames<R>, string>>

/** @property keepalive true for requests that outlive the page */
type OptionsOf<R extends AdminRoute> = {
  readonly signal?: AbortSignal
  readonly keepalive?: boolean
  readonly query?: Query<R>
} & ([RequestBody<R>] extends [never] ? object : { readonly body: RequestBody<R> }) &
  ([ParameterNames<R>] extends [never] ? object : { readonly at: Parameters<R> })

/** Arguments after the route: options, which may be omitted if none is required. */
type Arguments = {
  readonly [R in AdminRoute]: object extends OptionsOf<R> ? [OptionsOf<R>?] : [OptionsOf<R>]
}

/** The parts that all options share, as the implementation reads them. */
interface AnyOptions {
  readonly signal?: AbortSignal
  readonly keepalive?: boolean
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly at?: Readonly<Record<string, string>>
}

export class ApiError extends Error {
  readonly status: number
  readonly code: string | undefined
  readonly requestId: string | undefined
  /** Errors of single fields, by their paths: `limits.budget.usd`. */
  readonly fields: Readonly<Record<string, string>>

  constructor (
    message: string,
    {
      status = 0,
      code,
      requestId,
      fields = {}
    }: Partial<Pick<ApiError, 'status' | 'code' | 'requestId' | 'fields'>> = {}
  ) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.requestId = requestId
    this.fields = fields
  }

  static of (error: unknown): ApiError {
    if (error instanceof ApiError) return error
    if (error instanceof TypeError) return new ApiError('The gateway cannot be reached. Is it still running?')
    return new ApiError(error instanceof Error ? error.message : String(error))
  }
}

let onSignedOut = (): void => {}

/**
 * The name of the stored token that every request carries. Only pages of this origin can read it, while the
 * cookie is sent to every port of the host. It is read again for each request, since another tab may have
 * signed in.
 */
const tokenName = 'csrf_token'

/** Stores the token of a sign-in, for all tabs; without one, removes the stored token. */
export function keepToken (token: string | undefined): void {
  if (token === undefined) localStorage.removeItem(tokenName)
  else localStorage.setItem(tokenName, token)
}

/** Sets what happens when the server no longer knows the session. */
export function whenSignedOut (listener: () => void): void {
  onSignedOut = listener
}

export async function api<R extends AdminRoute> (
  route: R,
  ...[options]: Arguments[R]
): Promise<Answer<R>> {
  const response = await request(route, 'application/json', options ?? {})
  // The server validates nothing it sends: that its answers have these types is tested there.
  return await response.json() as Answer<R>
}

/**
 * Sends a request, for answers that are not JSON: files and event streams.
 *
 * @param accept media type of the answer
 * @throws ApiError as `api`
 */
export async function request (
  route: AdminRoute,
  accept: string,
  { signal, keepalive = false, query, body, at }: AnyOptions
): Promise<Response> {
  const [method = '', path = ''] = route.split(' ')
  const response = await fetch(addressOf(path, at, query), {
    method,
    keepalive,
    headers: {
      accept,
      ...body !== undefined && { 'content-type': 'application/json' },
      'x-headgate-csrf': localStorage.getItem(tokenName) ?? '',
      ...method === 'POST' && { 'idempotency-key': crypto.getRandomValues(new Uint32Array(4)).join('-') }
    },
    ...body !== undefined && { body: JSON.stringify(body) },
    ...signal !== undefined && { signal }
  })
  if (!response.ok) throw await readError(response, !path.startsWith('/admin/v1/sign-in'))
  return response
}

/** Returns the address of a route. */
export function addressOf (
  path: string,
  parameters: AnyOptions['at'] = {},
  query: AnyOptions['query'] = {}
): string {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, String(value))
  }
  return search.size === 0 ? filled : `${filled}?${search.toString()}`
}

/** The fields that are read of errors: an `ErrorBody`, or a `ValidationErrorBody`. */
interface ErrorAnswer {
  readonly error?: {
    readonly message?: string
    readonly code?: string | null
    readonly param?: string | null
  }
  readonly detail?: ReadonlyArray<{ readonly loc?: ReadonlyArray<string | number>, readonly msg?: string }>
}

/** Reads an error of the admin API or of an endpoint. */
export async function readError (response: Response, ofSession = false): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id')
  // A proxy in front may answer with a page instead.
  const { error, detail }: ErrorAnswer = (await response.json().catch(() => ({}))) as ErrorAnswer
  const fields = Object.fromEntries(
    (detail ?? []).map(({ loc = [], msg = '' }) => [loc.filter(part => part !== 'body').join('.'), msg])
  )
  if (detail === undefined && typeof error?.param === 'string' && error.message !== undefined) {
    fields[error.param] = error.message
  }
  if (response.status === 401 && ofSession) onSignedOut()
  const message = detail?.[0]?.msg ?? error?.message ?? `The gateway replied with status ${response.status}.`
  return new ApiError(message, {
    status: response.status,
    fields,
    ...typeof error?.code === 'string' && { code: error.code },
    ...requestId !== null && { requestId }
  })
}
