/** Whether a text is a stream of server-sent events as A2A wants them. Pure. */

/** What is wrong, once for each kind; nothing for a good stream. */
export function sseFaults(text: string): string[] {
  const faults = new Set<string>()
  const lines = text.split(/\r\n|\r|\n/)
  const rest = lines.pop() ?? ''
  let data: string[] = []
  for (const line of lines) {
    if (line === '') {
      if (data.length > 0) checkData(data.join('\n'), faults)
      data = []
    } else if (line.startsWith('data:')) data.push(line.slice('data:'.length))
    else if (!/^(:|id(:|$)|event(:|$)|retry(:|$)|data$)/.test(line))
      faults.add(`a line is no field of an event: ${JSON.stringify(line.slice(0, 60))}`)
  }
  if (data.length > 0 || rest !== '') faults.add('the last event is not ended by an empty line')
  return [...faults]
}

function checkData(data: string, faults: Set<string>): void {
  try {
    JSON.parse(data)
  } catch {
    faults.add(`an event is no JSON: ${JSON.stringify(data.trim().slice(0, 60))}`)
  }
}
