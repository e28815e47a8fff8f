/** Returns the time in Unix seconds, as answers give it. */
export function nowSeconds (): number {
  return Math.floor(Date.now() / 1000)
}
