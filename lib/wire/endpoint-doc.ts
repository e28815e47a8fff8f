/** Describes an endpoint where its schemas do not: its part of the OpenAPI document is made of both. */

import type { TSchema } from 'typebox'
import type { ErrorCode } from '../core/errors.ts'

/** The documentation of one endpoint. */
export interface EndpointDoc {
  /** Unique; the name of the method in generated clients. */
  readonly operationId: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** As the router writes it: `/v1/models/*model`. */
  readonly path: string
  readonly group: string
  readonly summary: string
  readonly request?: { readonly schema: TSchema, readonly mediaType?: string }
  readonly answers: readonly AnswerDoc[]
  /** Schemas of this endpoint that stand under a name of their own in the document. */
  readonly named?: Readonly<Record<string, TSchema>>
  /** Codes beside those every endpoint may answer with. */
  readonly errors?: readonly ErrorCode[]
  /**
   * The body of its errors, those of requests of a wrong shape included, which are 400 then. Default:
   * `ErrorBody`, or for those 422 with `ValidationErrorBody`.
   */
  readonly errorBody?: TSchema
  /** Parameters of the query, by name. */
  readonly query?: Readonly<
    Record<string, { readonly description: string, readonly type: 'string' | 'integer' | 'boolean' }>
  >
  /** Descriptions of headers that only answers of this endpoint have, errors included. */
  readonly headers?: Readonly<Record<string, string>>
  /** True when it answers without a key. */
  readonly open?: boolean
  /** For an endpoint of the admin API: those who may use it, instead of callers with a key. */
  readonly access?: 'open' | 'session' | 'administration'
  /** True where every key will do, whatever endpoints it may use. */
  readonly everyKey?: boolean
  /** Descriptions of headers that a request may have. */
  readonly requestHeaders?: Readonly<Record<string, string>>
  /** For endpoints that route: the answer to a dry run. */
  readonly dryRun?: TSchema
  /** True when a provider may be called. Default: where there is a `dryRun`. */
  readonly routed?: boolean
}

export interface AnswerDoc {
  /** Default 200. */
  readonly status?: number
  readonly description: string
  /** Default `application/json`. For an event stream the schema is that of one message. */
  readonly mediaType?: string
  /** Absent for bytes. */
  readonly schema?: TSchema
}
