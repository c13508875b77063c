module lacuna

go 1.26
