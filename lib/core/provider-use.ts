/**
 * One thing that a request has a provider do with the gateway's credential, beside answering with the chosen
 * model. Each dialect and each kind of request lists these; `stages/check-uses` alone decides which of them a
 * key may have.
 */
export type ProviderUse =
  /** Another model, by its name at the provider. */
  | { readonly kind: 'model', readonly name: string, readonly param: string }
  /** A model that the provider picks. */
  | { readonly kind: 'default_model', readonly param: string }
  /** Something that is kept in the provider's account, by its id. */
  | { readonly kind: 'object', readonly param: string }
  /** An address that the provider fetches. It may be one of its own, where objects of the account are. */
  | { readonly kind: 'address', readonly url: string, readonly param: string }
  /** A tool server that the provider calls by its address. */
  | { readonly kind: 'tool_server', readonly param: string }
  /** A tool or a field that is billed by units other than tokens and searches. */
  | { readonly kind: 'unpriced', readonly param: string }
  /** A field by which some servers choose another model or provider, or add what has a price of its own. */
  | { readonly kind: 'router_field', readonly param: string }
  /** A tool of a type that is in no list here: it could do anything. */
  | { readonly kind: 'unknown_tool', readonly name: string, readonly param: string }
