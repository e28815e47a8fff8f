/** Makes the browser save a file: a link alone would send the cookie, but not the token of the session. */
export function saveFile (name: string, content: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
