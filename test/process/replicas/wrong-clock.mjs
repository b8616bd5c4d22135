// Imported before a replica starts: shifts the clock by `CLOCK_ERROR_MS`.
const errorMs = Number(process.env.CLOCK_ERROR_MS)
const RightDate = Date

globalThis.Date = class extends RightDate {
  constructor(...given) {
    super(...(given.length === 0 ? [RightDate.now() + errorMs] : given))
  }

  static now() {
    return RightDate.now() + errorMs
  }
}
