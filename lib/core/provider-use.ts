/**
 * Something that a request uses at a provider with the gateway's credential, besides the chosen model. Each
 * dialect and each kind of request lists its uses; only `stages/check-provider-uses` decides which of them a
 * key may have.
 */
export type ProviderUse =
  /** Another model, by its name at the provider. */
  | { readonly kind: 'model', readonly name: string, readonly param: string }
  /** A model that the provider chooses. */
  | { readonly kind: 'default_model', readonly param: string }
  /** An object stored in the provider's account, by its id. */
  | { readonly kind: 'object', readonly param: string }
  /**
   * An address that the provider fetches. It may be the provider's own address, where objects of the account
   * are.
   */
  | { readonly kind: 'address', readonly url: string, readonly param: string }
  /** A tool server that the provider calls by its address. */
  | { readonly kind: 'tool_server', readonly param: string }
  /** A tool or a field that is not billed by tokens or searches. */
  | { readonly kind: 'unpriced', readonly param: string }
  /**
   * A field with which some servers choose another model or provider, or add something with a separate price.
   */
  | { readonly kind: 'router_field', readonly param: string }
  /** A tool of an unlisted type, which could do anything. */
  | { readonly kind: 'unknown_tool', readonly name: string, readonly param: string }
