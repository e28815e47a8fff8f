/** Stored responses as the dialect needs them; `stores/response-store` keeps them. */

import type { InputItem } from '../../../schemas/response-items.ts'
import type { ResponseObject } from '../../../schemas/responses.ts'

/** An item as it is stored: with an id. */
export type StoredItem = InputItem & { readonly id: string }

/** A stored response that another one continues. */
export interface EarlierResponse {
  readonly id: string
  /** The first response of the conversation. */
  readonly rootId: string
}

/** All that a response which is continued brings along. */
export interface Continuation extends EarlierResponse {
  /** Inputs and outputs from the first response of the conversation on. */
  readonly items: readonly StoredItem[]
}

/** A response that is to be stored. */
export interface ResponseToKeep {
  readonly keyId: string
  readonly previous?: EarlierResponse
  readonly response: ResponseObject
  /** The items of its own input. */
  readonly input: readonly StoredItem[]
  /** The ids that the gateway made for items of it: only by these can they be referred to. */
  readonly itemIds: readonly string[]
}

export interface ResponseArchive {
  /** False where the operator keeps nothing: responses say so in `store`. */
  readonly keeps: boolean
  /**
   * Returns a response of a key and all that it continues; `undefined` for one that is unknown or did not complete.
   *
   * @throws GatewayError `context_length_exceeded` when it is too long; `overloaded` while the store cannot be used
   */
  readonly continuation: (keyId: string, id: string) => Promise<Continuation | undefined>
  /** Returns those of these items that the gateway made for a key, by id. @throws GatewayError `overloaded` */
  readonly items: (keyId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, StoredItem>>
  /** @throws GatewayError `overloaded` */
  readonly keep: (response: ResponseToKeep) => Promise<void>
}
