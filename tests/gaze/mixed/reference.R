# Fit the models that reference_data.py writes, using lme4's glmer and emmeans: Rscript reference.R FOLDER OUT.json
# The tolerances are so small that the optimizer's error is far below the differences that the tests detect.
suppressMessages({library(lme4); library(emmeans); library(jsonlite)})

words <- commandArgs(trailingOnly = TRUE)
folder <- words[1]
out <- words[2]
control <- glmerControl(
  optimizer = "bobyqa", optCtrl = list(rhobeg = 0.02, rhoend = 1e-8, maxfun = 1e5),
  tolPwrss = 1e-13, calc.derivs = TRUE, check.conv.singular = "ignore"
)
emm_options(msg.interaction = FALSE)

plain <- function(found) {
  frame <- as.data.frame(found)
  lapply(frame, function(column) if (is.factor(column)) as.character(column) else column)
}

fit_one <- function(case) {
  table <- read.csv(file.path(folder, paste0(case$name, ".csv")), stringsAsFactors = TRUE)
  table$trials_ <- if (case$weights) table$trials else 1
  formula <- as.formula(case$formula)
  fit <- glmer(formula, data = table, family = binomial, weights = trials_, control = control)
  sds <- sapply(VarCorr(fit), function(block) attr(block, "stddev")[[1]])
  found <- list(
    name = case$name, digest = case$digest,
    coefficients = as.list(fixef(fit)),
    standard_errors = unname(sqrt(diag(as.matrix(vcov(fit, use.hessian = TRUE))))),
    sds = as.list(sds), log_likelihood = as.numeric(logLik(fit)), n = nobs(fit), singular = isSingular(fit)
  )
  if (length(case$means) > 0) {
    at <- if (length(case$at) > 0) case$at else list()
    # A variable that is a factor only in the formula is a number in the table, so its values must be listed in `at`.
    for (name in case$means) if (is.numeric(table[[name]]) && is.null(at[[name]])) at[[name]] <- sort(unique(table[[name]]))
    means <- if (length(at) > 0) emmeans(fit, case$means, at = at, data = table) else emmeans(fit, case$means, data = table)
    found$means <- plain(confint(means))
    found$responses <- plain(summary(means, type = "response"))
    found$tukey <- plain(pairs(means, adjust = "tukey"))
    found$holm <- plain(pairs(means, adjust = "holm"))
  }
  if (!is.null(case$slope)) {
    by <- if (is.null(case$slope_by)) ~1 else as.formula(paste("~", case$slope_by))
    slopes <- emtrends(fit, by, var = case$slope, data = table)
    found$slopes <- plain(slopes)
  }
  found
}

cases <- fromJSON(file.path(folder, "cases.json"), simplifyDataFrame = FALSE)
fits <- lapply(cases, fit_one)
versions <- list(
  R = paste(R.version$major, R.version$minor, sep = "."),
  lme4 = as.character(packageVersion("lme4")), emmeans = as.character(packageVersion("emmeans"))
)
write(toJSON(list(versions = versions, fits = fits), auto_unbox = TRUE, digits = 10, pretty = 1), out)
