/**
 * Models of some providers need up to 40 % more tokens for a text than the estimate has: a count that is too
 * low makes clients shorten their conversations too late.
 */
const margin = 1.2
const tokensPerMessage = 4
/** The words that introduce tools to a model. */
const tokensForTools = 350

/**
 * Returns the count of a prompt whose tokens are estimated.
 *
 * @param estimated tokens of its texts and tools
 */
export function countOf (
  estimated: number,
  {
    messages,
    tools = []
  }: { readonly messages: readonly unknown[], readonly tools?: readonly unknown[] | undefined }
): number {
  return (
    Math.ceil(estimated * margin) +
    tokensPerMessage * messages.length +
    (tools.length > 0 ? tokensForTools : 0)
  )
}
