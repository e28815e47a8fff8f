/** Stored responses as the dialect needs them; `stores/response-store` keeps them. */

import type { ProviderAccount } from '../../core/call.ts'
import type { InputItem } from '../../../schemas/response-items.ts'
import type { ResponseObject } from '../../../schemas/responses.ts'

/** An item as it is stored: with an id. */
export type StoredItem = InputItem & { readonly id: string }

/** The place where a provider of this dialect keeps a response. */
export interface ResponseOrigin extends ProviderAccount {
  /** Its id there. */
  readonly responseId: string
}

/** A stored response that another one continues. */
export interface EarlierResponse {
  readonly id: string
  /** Absent where no provider keeps it. */
  readonly origin?: ResponseOrigin | undefined
  /** The first response of the conversation. */
  readonly rootId: string
}

/** All that a response which is continued brings along. */
export interface Continuation extends EarlierResponse {
  /** Inputs and outputs from the first response of the conversation on. */
  readonly items: readonly StoredItem[]
}

/** An item of a stored response. */
export interface FoundItem {
  readonly item: StoredItem
  /** Absent where no provider keeps it. */
  readonly origin?: ResponseOrigin | undefined
}

/** A response that is to be stored. */
export interface ResponseToKeep {
  readonly keyId: string
  readonly previous?: EarlierResponse
  /** The user of the caller's application. */
  readonly endUser?: string | undefined
  readonly origin?: ResponseOrigin | undefined
  readonly response: ResponseObject
  /** The items of its own input. */
  readonly input: readonly StoredItem[]
  /** The ids that the gateway made for items of it: only by these can they be referred to. */
  readonly itemIds: readonly string[]
  /** The placeholders of its texts with their values, sealed. Absent: it has none. */
  readonly placeholders?: string | undefined
}

/** Counts memory before it is used, as `takeMemory` of a call does. */
export type TakeMemory = (bytes: number) => void

export interface ResponseArchive {
  /** False where the operator keeps nothing: responses say so in `store`. */
  readonly keeps: boolean
  /** The largest body, and the largest response, that is kept. */
  readonly maxBodyBytes: number
  /**
   * Returns a response of a key and all that it continues; `undefined` for one that is unknown or did not
   * complete.
   *
   * @throws GatewayError `context_length_exceeded` when it is too long; `overloaded` while the store cannot
   *   be used
   */
  readonly continuation: (
    keyId: string,
    id: string,
    takeMemory?: TakeMemory
  ) => Promise<Continuation | undefined>
  /** Returns those of these items that the gateway stored for a key, by id. @throws GatewayError as above */
  readonly items: (
    keyId: string,
    ids: readonly string[],
    takeMemory?: TakeMemory
  ) => Promise<ReadonlyMap<string, FoundItem>>
  /** @throws GatewayError `file_too_large`, `overloaded` */
  readonly keep: (response: ResponseToKeep) => Promise<void>
}
